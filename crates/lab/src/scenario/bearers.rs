//! Dedicated bearers of UEs, and the quality of service of any bearer.

use crate::scenario::packet_filter::PacketFilter;
use airwnd_catalog::Params;
use airwnd_cell::{Bearer, BearerSetup, DiscardTimer, Qci, Rlc, RlcMode};
use airwnd_links::aqm;
use airwnd_units::BitRate;
use std::sync::Arc;

/// A dedicated bearer of each UE of a group: a data radio bearer beside the default bearer, with queues of its own.
///
/// Flows are mapped to it by `bearer` of `[[flow]]`, or by `filter`, in both directions. Where bearers of a UE compete, in a downlink
/// block as in an uplink grant, they are served in the order of the priority levels of their classes (`qci`). Before
/// that, each of them gets its prioritized bit rate (`pbr`), so that none starves.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.300 §13.1; TS 36.321 §5.4.3.1", check)]
pub struct DedicatedBearer {
    /// Name of the bearer, referenced by flows.
    #[param(basic, default = "dedicated".to_string(), unit = "text", source = "airwnd")]
    pub name: String,
    /// QoS class identifier (QCI), or 5QI of NR, of the bearer; `none`: 9, or 4 with a guaranteed bit rate.
    #[param(basic, default = None, range = 1..=90, unit = "1")]
    #[param(source = "TS 23.203 Table 6.1.7-A; TS 23.501 Table 5.7.4-1")]
    pub qci: Option<u8>,
    /// Guaranteed bit rate (GBR) of the bearer; `none`: best effort.
    #[param(basic, default = None, range = BitRate(1)..=BitRate(10_000_000_000))]
    #[param(unit = "bit/s", source = "TS 23.203 §6.1.7")]
    pub gbr: Option<BitRate>,
    /// Maximum bit rate (MBR) of a GBR bearer, used by token-based schedulers; `none`: equal to `gbr`.
    #[param(default = None, range = BitRate(1)..=BitRate(10_000_000_000))]
    #[param(unit = "bit/s", source = "TS 23.203 §6.1.7")]
    pub mbr: Option<BitRate>,
    /// Prioritized bit rate (PBR) in each direction: served before bearers of a higher priority get more than theirs;
    /// `none`: equal to `gbr`, without it 64 kbit/s.
    #[param(default = None, range = BitRate(0)..=BitRate(10_000_000_000))]
    #[param(unit = "bit/s", source = "TS 36.331 §6.3.2, LogicalChannelConfig: kBps8")]
    pub pbr: Option<BitRate>,
    /// RLC mode; `none`: like `rlc.mode`.
    #[param(default = None, unit = "word", source = "TS 36.322; the scenario")]
    pub mode: Option<RlcMode>,
    /// Queue discipline and buffer size of the downlink queue at the eNB; `none`: like `rlc.queue`.
    #[param(default = None, unit = "1", source = "the scenario")]
    pub queue: Option<aqm::Spec>,
    /// Queue discipline and buffer size of the uplink queue at the UE; `none`: like `queue`, without it like
    /// `rlc.uplink_queue`.
    #[param(default = None, unit = "1", source = "the scenario")]
    pub uplink_queue: Option<aqm::Spec>,
    /// PDCP discard timer; `none`: like `rlc.discard_timer`.
    #[param(default = None, unit = "word", source = "TS 36.323 §5.4; the scenario")]
    pub discard_timer: Option<DiscardTimer>,
    /// Packet filters: the flows of real programs (`airwnd link`) that the bearer carries.
    #[param(basic, default = Vec::new(), unit = "1", source = "TS 24.008 §10.5.6.12: none")]
    pub filter: Vec<PacketFilter>,
}

impl DedicatedBearer {
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.name.is_empty() {
            return Err(("name", "a bearer needs a name".into()));
        }
        self.quality().check()
    }

    pub(crate) fn quality(&self) -> Quality {
        Quality { qci: self.qci, gbr: self.gbr, mbr: self.mbr, pbr: self.pbr }
    }

    /// The bearer in a network with this RLC.
    pub(crate) fn setup(&self, rlc: &Rlc) -> BearerSetup {
        let own = self.mode.is_some()
            || self.queue.is_some()
            || self.uplink_queue.is_some()
            || self.discard_timer.is_some();
        let rlc = own.then(|| {
            Arc::new(Rlc {
                mode: self.mode.unwrap_or(rlc.mode),
                queue: self.queue.as_ref().unwrap_or(&rlc.queue).clone(),
                uplink_queue: [&self.uplink_queue, &self.queue, &rlc.uplink_queue]
                    .into_iter()
                    .find_map(Clone::clone),
                discard_timer: self.discard_timer.unwrap_or(rlc.discard_timer),
                ..rlc.clone()
            })
        });
        BearerSetup { rlc, ..self.quality().setup() }
    }
}

/// The class and rates of a bearer, as in a scenario.
pub(crate) struct Quality {
    pub qci: Option<u8>,
    pub gbr: Option<BitRate>,
    pub mbr: Option<BitRate>,
    pub pbr: Option<BitRate>,
}

impl Quality {
    /// The class of the bearer.
    pub fn qci(&self) -> Qci {
        let usual = if self.gbr.is_some() { Qci::GUARANTEED } else { Qci::BEST_EFFORT };
        self.qci.map_or(usual, |number| Qci::new(number).expect("checked: a standardized number"))
    }

    fn bearer(&self) -> Bearer {
        Bearer::new(self.qci(), self.gbr.unwrap_or(BitRate(0)), self.mbr.unwrap_or(BitRate(0)))
    }

    /// A bearer with the network's RLC.
    pub fn setup(&self) -> BearerSetup {
        let usual = BearerSetup::new(self.bearer());
        BearerSetup { pbr: self.pbr.unwrap_or(usual.pbr), ..usual }
    }

    //= TS 23.203 §6.1.7.2
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if let Some(number) = self.qci {
            let fail = |fault: String| Err(("qci", format!("QCI {number} {fault}")));
            let [guaranteed, others] = [true, false].map(Qci::numbers);
            match Qci::new(number).map(Qci::is_guaranteed) {
                None => {
                    return fail(format!(
                        "is not standardized; allowed: {others}, and with gbr {guaranteed}"
                    ));
                }
                Some(true) if self.gbr.is_none() => {
                    return fail(format!("is a GBR class; set gbr, or use QCI {others}"));
                }
                Some(false) if self.gbr.is_some() => {
                    return fail(format!("is a non-GBR class; remove gbr, or use QCI {guaranteed}"));
                }
                Some(_) => {}
            }
        }
        let bearer = self.bearer();
        match self.mbr {
            Some(_) if self.gbr.is_none() => {
                Err(("mbr", "a maximum bit rate requires a guaranteed bit rate; set gbr".into()))
            }
            Some(mbr) if mbr < bearer.gbr => {
                Err(("mbr", format!("the maximum bit rate {mbr} is below gbr, {}", bearer.gbr)))
            }
            _ => Ok(()),
        }
    }
}
