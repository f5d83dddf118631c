//! TCP parameters of a flow: those of the scenario, of the flow, and what its congestion control needs.

use crate::{Config, Overrides, Settings, cc};

impl Settings {
    /// Returns the parameters of both ends of a flow with the settings `own` and the congestion control `cc`. Unless
    /// ECN is set, it is the feedback that the control [needs](cc::CongestionControl::needed_ecn).
    ///
    /// # Errors
    /// A contradiction, as the key of the flow and a message: of timeouts, or ECN without the feedback that the control
    /// needs.
    pub fn for_flow(&self, own: &Overrides, cc: &cc::Spec) -> Result<Config, (&'static str, String)> {
        let settings = self.with(own);
        if let Err((_, message)) = settings.check() {
            let key = match own {
                Overrides { min_rto: Some(_), .. } => "tcp.min_rto",
                Overrides { max_rto: Some(_), .. } => "tcp.max_rto",
                _ => "tcp.stack",
            };
            return Err((key, message));
        }
        let mut config = settings.config();
        if let Some(needed) = cc.needed_ecn() {
            if settings.ecn.is_none() {
                config.ecn = needed;
            } else if !config.ecn.counts_marks() {
                let key = if own.ecn.is_some() { "tcp.ecn" } else { "cc" };
                let (kind, set) = (cc.kind(), config.ecn.word());
                let message = format!(
                    "`{kind}` responds to the number of marked packets, which tcp.ecn = \"{set}\" does not report; \
                     remove it, or set \"accurate\" or \"dctcp\""
                );
                return Err((key, message));
            }
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stack;
    use crate::stack::Ecn;
    use airwnd_units::Span;

    #[test]
    fn the_settings_of_a_flow_precede_those_of_the_scenario() {
        let scenario = Settings { mss: Some(512), sack: Some(false), ..Settings::default() };
        let own = Overrides { stack: Some(Stack::Ns3v26), mss: Some(900), ..Overrides::default() };
        let config = scenario.for_flow(&own, &cc::Spec::Cubic(Default::default())).unwrap();
        assert_eq!(config, Config { mss: 900, sack: false, ..Stack::Ns3v26.config() });
        let own = Overrides { max_rto: Some(Span::from_secs(1)), ..Overrides::default() };
        let scenario = Settings { min_rto: Some(Span::from_secs(2)), ..Settings::default() };
        let (key, message) = scenario.for_flow(&own, &cc::Spec::Cubic(Default::default())).unwrap_err();
        assert_eq!((key, message.as_str()), ("tcp.max_rto", "the minimum timeout 2s exceeds the maximum 1s"));
    }

    #[test]
    fn a_control_that_needs_ecn_has_it_unless_ecn_is_set() {
        let dctcp = cc::Spec::Dctcp(Default::default());
        let prague = cc::Spec::Prague(Default::default());
        let effective_ecn = |ecn, own, cc: &cc::Spec| {
            let settings = Settings { ecn, ..Settings::default() };
            settings.for_flow(&Overrides { ecn: own, ..Overrides::default() }, cc).map(|config| config.ecn)
        };
        assert_eq!(effective_ecn(None, None, &cc::Spec::Cubic(Default::default())), Ok(Ecn::Off));
        assert_eq!(effective_ecn(None, None, &dctcp), Ok(Ecn::Dctcp));
        assert_eq!(effective_ecn(None, None, &prague), Ok(Ecn::Accurate));
        assert_eq!(effective_ecn(Some(Ecn::Accurate), None, &dctcp), Ok(Ecn::Accurate));
        assert_eq!(effective_ecn(Some(Ecn::Off), Some(Ecn::Dctcp), &prague), Ok(Ecn::Dctcp));
        assert_eq!(effective_ecn(Some(Ecn::Off), None, &prague).unwrap_err().0, "cc");
        let (key, message) = effective_ecn(None, Some(Ecn::Classic), &prague).unwrap_err();
        assert_eq!(key, "tcp.ecn");
        assert!(
            message.starts_with(
                "`prague` responds to the number of marked packets, which tcp.ecn = \"classic\""
            )
        );
    }
}
