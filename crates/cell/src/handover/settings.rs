//! What a handover can be set to.

use super::{LinkFailure, Spec};
use airwnd_catalog::{Choice, Params};
use airwnd_units::Span;

/// What becomes of the packets that wait for a UE when it changes cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Forwarding {
    /// All of which nothing has been sent are forwarded; in acknowledged mode also what has not been acknowledged.
    #[word = "waiting"]
    Waiting,
    /// Only those that arrive at the old cell afterwards are forwarded.
    #[word = "arriving"]
    Arriving,
    /// None is forwarded.
    #[word = "nothing"]
    Nothing,
}

/// Handover: what UEs measure, who decides, and how a handover takes place.
///
/// The steps: the old cell decides and asks the new one (preparation), the command reaches the UE, which leaves
/// the old cell and accesses the new one (random access); then the gateway is told (path switch). What comes on the old
/// path meanwhile is forwarded over X2, and goes before what comes on the new one.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.300 §10.1.2; TS 36.331 §5.5")]
pub struct Settings {
    /// Who decides.
    #[param(default = Spec::Never(Default::default()), unit = "1", source = "ns-3 LteHelper default")]
    pub algorithm: Spec,
    /// Layer-1 filter: a UE averages its measurements over this period, and then looks whether to report.
    #[param(default = Span::from_millis(200), range = Span::from_millis(10)..=Span::from_secs(10))]
    #[param(unit = "time", source = "TS 36.133 §8.1.2.2.1; ns-3 LteUePhy::UeMeasurementsFilterPeriod")]
    pub measurement_period: Span,
    /// Layer-3 filter: k, by which a new measurement weighs 2^(-k/4) and the filtered ones before it the rest.
    #[param(default = 4, range = 0..=19)]
    #[param(unit = "1", source = "TS 36.331 §5.5.3.2; ns-3 LteEnbRrc::RsrpFilterCoefficient")]
    pub filter_coefficient: u8,
    /// From the decision to the command at the UE, besides two crossings of X2.
    #[param(default = Span::ZERO, range = Span::ZERO..=Span::from_secs(10))]
    #[param(unit = "time", source = "ns-3 LteRrcProtocolIdeal")]
    pub preparation: Span,
    /// From the command to the first packet in the new cell: synchronisation and random access.
    #[param(default = Span::from_millis(4), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "ns-3 reference run S6: 4.2 ms")]
    pub random_access: Span,
    /// From then until the gateway sends to the new cell.
    #[param(default = Span::ZERO, range = Span::ZERO..=Span::from_secs(10))]
    #[param(unit = "time", source = "ns-3 PointToPointEpcHelper, S11LinkDelay")]
    pub path_switch: Span,
    /// What becomes of waiting packets. Uplink packets that wait at the UE stay there with `waiting`, else they
    /// are dropped.
    #[param(default = Forwarding::Waiting, unit = "word", source = "TS 36.300 §10.1.2.3")]
    pub forwarding: Forwarding,
    /// Radio-link failure and re-establishment; none: a UE stays with its cell whatever it hears.
    #[param(default = None, unit = "1", source = "airwnd")]
    pub link_failure: Option<LinkFailure>,
}

impl Settings {
    /// Whether any UE may change cells.
    pub fn can_change_cells(&self) -> bool {
        !matches!(self.algorithm, Spec::Never(_)) || self.link_failure.is_some()
    }
}
