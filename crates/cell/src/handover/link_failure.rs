//! Radio link failure.

use airwnd_catalog::Params;
use airwnd_units::{Db, Span, Time};

/// Radio link failure: a UE whose control channels stay below Qout for long enough searches for another cell.
///
/// N310 consecutive periods below Qout start T310. N311 consecutive periods above Qin stop it. When T310 expires, the
/// link has failed. The UE then searches for the strongest cell above Qin, or `search_sinr`, and accesses it.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.331 §5.3.11, §5.3.7; TS 36.133 §7.6", check)]
pub struct Params {
    /// Qout: SINR below which one in ten control channel transmissions is lost.
    #[param(basic)]
    #[param(default = Db(-5.0), range = Db(-30.0)..=Db(30.0), unit = "dB", source = "ns-3 LteUePhy::Qout")]
    pub q_out: Db,
    /// Qin: SINR above which at most one in fifty is lost.
    #[param(basic)]
    #[param(default = Db(-3.9), range = Db(-30.0)..=Db(30.0), unit = "dB", source = "ns-3 LteUePhy::Qin")]
    pub q_in: Db,
    /// Evaluation period of Qout: one such period below Qout counts as out of sync.
    #[param(default = Span::from_millis(200), range = Span::from_millis(10)..=Span::from_secs(10))]
    #[param(unit = "time", source = "TS 36.133 §7.6.2.1; ns-3 LteUePhy::NumQoutEvalSf")]
    pub out_period: Span,
    /// Evaluation period of Qin: one such period above Qin counts as in sync.
    #[param(default = Span::from_millis(100), range = Span::from_millis(10)..=Span::from_secs(10))]
    #[param(unit = "time", source = "TS 36.133 §7.6.2.1; ns-3 LteUePhy::NumQinEvalSf")]
    pub in_period: Span,
    /// Consecutive out-of-sync periods that start T310.
    #[param(default = 6, range = 1..=20, unit = "periods", source = "ns-3 LteUeRrc::N310")]
    pub n310: u64,
    /// Consecutive in-sync periods that stop T310.
    #[param(default = 2, range = 1..=10, unit = "periods", source = "ns-3 LteUeRrc::N311")]
    pub n311: u64,
    /// T310: time from loss of synchronisation to radio link failure.
    #[param(basic, default = Span::from_secs(1), range = Span::ZERO..=Span::from_secs(10))]
    #[param(unit = "time", source = "ns-3 LteUeRrc::T310")]
    pub t310: Span,
    /// SINR above which the search accepts a cell; `none`: Qin.
    #[param(default = None, range = Db(-30.0)..=Db(30.0), unit = "dB")]
    #[param(source = "TS 36.304 §5.2.3.2, S-criterion, here of the SINR; ns-3 has none")]
    pub search_sinr: Option<Db>,
    /// Whether packets that wait at both ends of the link, and those that arrive during the search, survive; otherwise they
    /// are lost with the contexts of the UE.
    #[param(default = true)]
    #[param(unit = "1", source = "TS 36.331 §5.3.7; false: ns-3 LteEnbRrc::RemoveUe, at a failure")]
    pub keeps_packets: bool,
    /// Time from the failure to the first packet in another cell, if one is found at once: cell search, system
    /// information and random access.
    #[param(basic, default = Span::from_millis(200), range = Span::from_millis(1)..=Span::from_secs(60))]
    #[param(
        unit = "time",
        source = "TS 36.133 §6.1.2.1: 50 ms, and 100 ms for a known cell, system information and random \
                  access besides"
    )]
    pub reestablishment: Span,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.q_out > self.q_in {
            return Err(("q_out", format!("Qout {} exceeds Qin {}", self.q_out, self.q_in)));
        }
        Ok(())
    }
}

/// Link monitor of a UE: SINR of its cell's control channels against Qout and Qin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Monitor {
    /// Start of the current interval below Qout, or above Qin while T310 runs.
    since: Option<Time>,
    /// Expiry of T310.
    t310: Option<Time>,
}

impl Monitor {
    /// Whether the last SINR was above Qout, and T310 does not run.
    pub fn is_in_sync(&self) -> bool {
        self.since.is_none() && self.t310.is_none()
    }

    /// The control channels have this SINR from now on. Returns whether the link has failed.
    pub fn update(&mut self, now: Time, sinr: Db, params: &Params) -> bool {
        let good = match self.t310 {
            None => sinr < params.q_out,
            Some(_) => sinr > params.q_in,
        };
        if !good {
            self.since = None;
        }
        let since = good.then(|| *self.since.get_or_insert(now));
        match (self.t310, since) {
            (None, Some(since)) if now.since(since) >= params.out_period * params.n310 => {
                *self = Monitor { since: None, t310: Some(now + params.t310) };
            }
            (Some(_), Some(since)) if now.since(since) >= params.in_period * params.n311 => {
                *self = Monitor::default();
            }
            _ => {}
        }
        self.t310.is_some_and(|expiry| expiry <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time in ms at which the link fails, with a new SINR every 10 ms.
    fn fails_at(sinr: impl Fn(u64) -> f64) -> Option<u64> {
        let params = Params::default();
        let mut monitor = Monitor::default();
        (0..1000)
            .map(|step| step * 10)
            .find(|ms| monitor.update(Time(ms * 1_000_000), Db(sinr(*ms)), &params))
    }

    #[test]
    fn a_link_fails_after_n310_periods_and_t310() {
        // 6 x 200 ms, then 1 s
        assert_eq!(fails_at(|_| -6.0), Some(2200));
        assert_eq!(fails_at(|_| -4.9), None);
        // a single better sample restarts the count
        assert_eq!(fails_at(|ms| if ms == 1000 { -4.5 } else { -6.0 }), Some(1010 + 2200));
    }

    #[test]
    fn two_good_periods_stop_t310() {
        assert_eq!(fails_at(|ms| if (1500..=1700).contains(&ms) { -3.0 } else { -6.0 }), Some(1710 + 2200));
        assert_eq!(fails_at(|ms| if (1500..=1690).contains(&ms) { -3.0 } else { -6.0 }), Some(2200));
        // an SINR between Qout and Qin is not in sync
        assert_eq!(fails_at(|ms| if ms >= 1500 { -4.5 } else { -6.0 }), Some(2200));
    }
}
