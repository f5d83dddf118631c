//! What a handover can be set to.

use super::{LinkFailure, Spec};
use airwnd_catalog::{choice, params};
use airwnd_units::Span;

choice! {
    /// What becomes of the packets that wait for a terminal when it changes cells.
    pub enum Forwarding {
        /// All of which nothing has been sent are forwarded; in acknowledged mode also what has not been acknowledged.
        Waiting = "waiting",
        /// Only those that arrive at the old cell afterwards are forwarded.
        Arriving = "arriving",
        /// None is forwarded.
        Nothing = "nothing",
    }
}

params! {
    /// Handover: what terminals measure, who decides, and how a handover takes place.
    ///
    /// The steps: the old cell decides and asks the new one (preparation), the command reaches the terminal, which leaves
    /// the old cell and accesses the new one (random access); then the gateway is told (path switch). What comes on the old
    /// path meanwhile is forwarded over X2, and goes before what comes on the new one.
    pub struct Settings ("TS 36.300 §10.1.2; TS 36.331 §5.5") {
        /// Who decides.
        pub algorithm: Spec = Spec::Never(Default::default()), unit "1", source "ns-3 LteHelper default";
        /// Layer-1 filter: a terminal averages its measurements over this period, and then looks whether to report.
        pub measurement_period: Span = Span::from_millis(200), unit "time", range Span::from_millis(10)..=Span::from_secs(10), source "TS 36.133 §8.1.2.2.1; ns-3 LteUePhy::UeMeasurementsFilterPeriod";
        /// Layer-3 filter: k, by which a new measurement weighs 2^(-k/4) and the filtered ones before it the rest.
        pub filter_coefficient: u8 = 4, unit "1", range 0..=19, source "TS 36.331 §5.5.3.2; ns-3 LteEnbRrc::RsrpFilterCoefficient";
        /// From the decision to the command at the terminal, besides two crossings of X2.
        pub preparation: Span = Span::ZERO, unit "time", range Span::ZERO..=Span::from_secs(10), source "ns-3 LteRrcProtocolIdeal";
        /// From the command to the first packet in the new cell: synchronisation and random access.
        pub random_access: Span = Span::from_millis(4), unit "time", range Span::from_millis(1)..=Span::from_secs(10), source "ns-3 reference run S6: 4.2 ms";
        /// From then until the gateway sends to the new cell.
        pub path_switch: Span = Span::ZERO, unit "time", range Span::ZERO..=Span::from_secs(10), source "ns-3 PointToPointEpcHelper, S11LinkDelay";
        /// What becomes of waiting packets. Uplink packets that wait at the terminal stay there with `waiting`, else they are dropped.
        pub forwarding: Forwarding = Forwarding::Waiting, unit "word", source "TS 36.300 §10.1.2.3";
        /// Radio-link failure and re-establishment; none: a terminal stays with its cell whatever it hears.
        pub link_failure: Option<LinkFailure> = None, unit "1", source "airwnd";
    }
}

impl Settings {
    /// Whether any terminal may change cells.
    pub fn can_change_cells(&self) -> bool {
        !matches!(self.algorithm, Spec::Never(_)) || self.link_failure.is_some()
    }
}
