//! Settings of handovers.

use super::{LinkFailure, Spec};
use airwnd_catalog::{Choice, Params};
use airwnd_units::Span;

/// Treatment of packets that wait for a UE when it changes cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Forwarding {
    /// Packets of which no part has been sent are forwarded; in acknowledged mode also those not yet acknowledged.
    #[word = "waiting"]
    Waiting,
    /// Only packets that arrive at the old cell after the UE has left it are forwarded.
    #[word = "arriving"]
    Arriving,
    /// No packet is forwarded.
    #[word = "nothing"]
    Nothing,
}

/// Handover: measurements of UEs, decision algorithm and execution.
///
/// Steps of a handover: the old cell decides and requests a slot in the target (preparation). The command reaches the
/// UE, which leaves the old cell and accesses the target (random access). Then the target informs the gateway (path
/// switch). Packets that still arrive on the old path are forwarded over X2, in NR Xn, and precede those on the new path.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.300 §10.1.2; TS 36.331 §5.5")]
pub struct Settings {
    /// Decision algorithm.
    #[param(basic, default = Spec::Never(Default::default()), unit = "1", source = "ns-3 LteHelper default")]
    pub algorithm: Spec,
    /// Layer-1 filter: period over which a UE averages its measurements before it evaluates reporting events.
    #[param(default = Span::from_millis(200), range = Span::from_millis(10)..=Span::from_secs(10))]
    #[param(unit = "time", source = "TS 36.133 §8.1.2.2.1; ns-3 LteUePhy::UeMeasurementsFilterPeriod")]
    pub measurement_period: Span,
    /// Layer-3 filter: coefficient k; a new measurement has the weight 2^(-k/4), the previous filtered value the rest.
    #[param(default = 4, range = 0..=19)]
    #[param(unit = "1", source = "TS 36.331 §5.5.3.2; ns-3 LteEnbRrc::RsrpFilterCoefficient")]
    pub filter_coefficient: u8,
    /// Time from the decision to the command at the UE, in addition to two X2 delays.
    #[param(default = Span::ZERO, range = Span::ZERO..=Span::from_secs(10))]
    #[param(unit = "time", source = "ns-3 LteRrcProtocolIdeal")]
    pub preparation: Span,
    /// Time from the command to the first packet in the new cell: synchronisation and random access.
    #[param(default = Span::from_millis(4), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "ns-3 reference run S6: 4.2 ms")]
    pub random_access: Span,
    /// Time from then until the gateway sends to the new cell.
    #[param(default = Span::ZERO, range = Span::ZERO..=Span::from_secs(10))]
    #[param(unit = "time", source = "ns-3 PointToPointEpcHelper, S11LinkDelay")]
    pub path_switch: Span,
    /// Treatment of waiting packets. Uplink packets at the UE stay there with `waiting`; otherwise they are dropped.
    #[param(default = Forwarding::Waiting, unit = "word", source = "TS 36.300 §10.1.2.3")]
    pub forwarding: Forwarding,
    /// Radio link failure and re-establishment; `none`: a UE keeps its cell at any SINR.
    #[param(default = None, unit = "1", source = "airwnd")]
    pub link_failure: Option<LinkFailure>,
}

impl Settings {
    /// Whether any UE may change cells.
    pub fn can_change_cells(&self) -> bool {
        !matches!(self.algorithm, Spec::Never(_)) || self.link_failure.is_some()
    }
}
