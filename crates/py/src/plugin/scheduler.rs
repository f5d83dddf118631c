//! Downlink schedulers implemented as Python classes: in each TTI they give RBGs to UEs.

use super::{Object, Plugin, Role, Wrong, optional, shown};
use airwnd_catalog::Error;
use airwnd_catalog::outside::Failures;
use airwnd_cell::mac::sched::{
    ByDelay, Candidates, Capabilities, Grants, Grid, LinkAdaptation, MAX_RBGS, PerUe, Properties, Rbgs,
    Scheduler, SecondPass, UeView,
};
use airwnd_cell::{Bearer, Qci, UeSlot};
use airwnd_units::{Bytes, Tti};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;

/// Bits of a byte: the engine has rates in bytes per second.
const BITS: f64 = 8.0;

/// A carrier of a cell, as its downlink scheduler knows it.
///
/// Attributes
/// ----------
/// cell, number
///     Number of the cell, and of the carrier in it; 0: the primary carrier.
/// rbgs, prbs_per_rbg
///     Resource-block groups of the carrier, and PRBs of each.
/// decisions_per_s
///     TTIs per second in which new data can be sent: 1000 in LTE; in NR the slots with downlink data.
/// seed
///     Seed of the scheduler, for its random numbers: it depends on the seed of the run and on the carrier.
#[pyclass(frozen, get_all, module = "airwnd")]
pub struct SchedulerCarrier {
    cell: u32,
    number: u8,
    rbgs: u8,
    prbs_per_rbg: u32,
    decisions_per_s: f64,
    seed: u64,
}

#[pymethods]
impl SchedulerCarrier {
    #[new]
    #[pyo3(signature = (*, cell=0, number=0, rbgs=25, prbs_per_rbg=4, decisions_per_s=1000.0, seed=1))]
    fn new(
        cell: u32,
        number: u8,
        rbgs: u8,
        prbs_per_rbg: u32,
        decisions_per_s: f64,
        seed: u64,
    ) -> SchedulerCarrier {
        SchedulerCarrier { cell, number, rbgs, prbs_per_rbg, decisions_per_s, seed }
    }

    fn __repr__(&self) -> String {
        format!("<SchedulerCarrier {} of cell {}>", self.number, self.cell)
    }
}

/// A UE that can be served in a TTI: it has data waiting, a free HARQ process and no retransmission.
///
/// Attributes
/// ----------
/// number
///     Number of the UE in its cell, in the order of admission. A UE that comes back has a new one.
/// backlog_bytes
///     Bytes that wait for it, as the MAC knows.
/// delay_s
///     Wait of its oldest data until the end of this TTI.
/// rank
///     Layers of its blocks.
/// wideband_cqi
///     CQI for a block over the whole carrier, 0 to 15; 0: out of range.
/// priority
///     Priority level of the class (QCI or 5QI) of its most important bearer with data; the lowest is served first.
/// delay_budget_s
///     Packet delay budget of that class.
/// gbr_bps
///     Guaranteed bit rate of its bearers together; 0: none.
#[pyclass(frozen, module = "airwnd")]
pub struct SchedulerUe {
    #[pyo3(get)]
    number: u32,
    #[pyo3(get)]
    backlog_bytes: u64,
    #[pyo3(get)]
    delay_s: f64,
    #[pyo3(get)]
    rank: u8,
    #[pyo3(get)]
    wideband_cqi: u8,
    #[pyo3(get)]
    priority: u8,
    #[pyo3(get)]
    delay_budget_s: f64,
    #[pyo3(get)]
    gbr_bps: u64,
    cqis: [u8; MAX_RBGS],
    /// Rate of an RBG on one layer in bit/s, by CQI.
    rates: Arc<[f64; 16]>,
    /// The call to which it belongs, and its slot.
    call: u64,
    slot: UeSlot,
}

#[pymethods]
impl SchedulerUe {
    /// A UE with the same CQI in the whole carrier, for tests of a class. Its rate in an RBG is CQI times 10 kbit/s.
    #[new]
    #[pyo3(signature = (*, number=0, backlog_bytes=10_000, delay_s=0.0, cqi=15, rank=1))]
    fn new(number: u32, backlog_bytes: u64, delay_s: f64, cqi: u8, rank: u8) -> SchedulerUe {
        let cqi = cqi.min(15);
        SchedulerUe {
            number,
            backlog_bytes,
            delay_s,
            rank,
            wideband_cqi: cqi,
            priority: Qci::BEST_EFFORT.priority(),
            delay_budget_s: Qci::BEST_EFFORT.delay_budget().as_secs(),
            gbr_bps: 0,
            cqis: [cqi; MAX_RBGS],
            rates: Arc::new(std::array::from_fn(|cqi| cqi as f64 * 10e3)),
            call: 0,
            slot: UeSlot(0),
        }
    }

    /// Return the CQI for a block in an RBG, 0 to 15; 0: out of range.
    ///
    /// Parameters
    /// ----------
    /// rbg
    ///     Number of the RBG.
    fn cqi(&self, rbg: usize) -> u8 {
        self.cqis.get(rbg).copied().unwrap_or(0)
    }

    /// Return the rate that an RBG would carry, in bit/s, if it were granted in each TTI.
    ///
    /// Parameters
    /// ----------
    /// rbg
    ///     Number of the RBG.
    fn rate_bps(&self, rbg: usize) -> f64 {
        f64::from(self.rank) * self.rates[usize::from(self.cqi(rbg))]
    }

    fn __repr__(&self) -> String {
        format!("<SchedulerUe {}>", self.number)
    }
}

/// A TTI in which a cell can send new data.
///
/// Attributes
/// ----------
/// number
///     Number of the TTI; in NR, of the slot.
/// rbgs
///     Numbers of the RBGs that retransmissions leave free, ascending.
/// ues
///     UEs that can be served, in the order of their slots; at least one.
/// is_repeated
///     Whether the PDCCH had no room for the assignments of the call before, in the same TTI. The UEs are those for
///     which it has room.
#[pyclass(frozen, get_all, module = "airwnd")]
pub struct SchedulerTti {
    number: u64,
    rbgs: Vec<u16>,
    ues: Py<PyList>,
    is_repeated: bool,
}

#[pymethods]
impl SchedulerTti {
    #[new]
    #[pyo3(signature = (ues, *, number=0, rbgs=vec![0], is_repeated=false))]
    fn new(ues: Py<PyList>, number: u64, rbgs: Vec<u16>, is_repeated: bool) -> SchedulerTti {
        SchedulerTti { number, rbgs, ues, is_repeated }
    }

    fn __repr__(&self) -> String {
        format!("<SchedulerTti {} with {} free RBGs>", self.number, self.rbgs.len())
    }
}

impl Role for dyn Scheduler {
    const FAMILY: &'static str = "sched";

    fn begin(plugin: &Arc<Plugin>, grid: &Grid, failures: &Failures) -> Result<Box<Self>, Error> {
        plugin.create(|class, watch| {
            let carrier = SchedulerCarrier {
                cell: grid.identity.cell.0.into(),
                number: grid.identity.carrier.0,
                rbgs: grid.rbgs,
                prbs_per_rbg: grid.rbg_prbs.0.into(),
                decisions_per_s: grid.decisions_per_second,
                seed: grid.identity.seed,
            };
            let object = class.call_method1("make", (carrier,))?;
            let optional = |name: &str| optional(class, &object, name);
            let word = object.getattr("link_adaptation")?;
            let link_adaptation = match word.extract::<String>().as_deref() {
                Ok("wideband") => LinkAdaptation::Wideband,
                Ok("subband") => LinkAdaptation::LowestSubband,
                _ => {
                    let what = shown(&word);
                    let message = format!("link_adaptation is {what}; it must be 'wideband' or 'subband'");
                    return Err(Wrong::Value(message));
                }
            };
            Ok(Box::new(Allocator {
                allocate: object.getattr("allocate")?.unbind(),
                on_admit: optional("on_admit")?,
                on_release: optional("on_release")?,
                on_served: optional("on_served")?,
                on_idle: optional("on_idle")?,
                object: Object::new(plugin, watch, failures),
                link_adaptation,
                rates: Arc::new(grid.rate_by_cqi.map(|rate| rate * BITS)),
                rbgs: grid.rbgs,
                users: Vec::new(),
                admissions: 0,
                calls: 0,
            }) as Box<dyn Scheduler>)
        })
    }
}

/// State of a scheduler for the UE of a slot.
#[derive(Clone, Copy)]
struct User {
    number: u32,
    bearer: Bearer,
    class: Qci,
}

/// A scheduler whose decisions are those of an object. After a failure no UE is served.
struct Allocator {
    object: Object,
    allocate: Py<PyAny>,
    on_admit: Option<Py<PyAny>>,
    on_release: Option<Py<PyAny>>,
    on_served: Option<Py<PyAny>>,
    on_idle: Option<Py<PyAny>>,
    link_adaptation: LinkAdaptation,
    rates: Arc<[f64; 16]>,
    rbgs: u8,
    /// By slot.
    users: Vec<User>,
    admissions: u32,
    calls: u64,
}

impl Allocator {
    /// The UE of a slot as the object sees it in this call.
    fn ue(&self, view: &UeView, ues: &Candidates<'_>) -> SchedulerUe {
        let user = &self.users[view.slot.index()];
        let mut cqis = [0; MAX_RBGS];
        for (rbg, cqi) in (0..self.rbgs).zip(&mut cqis) {
            *cqi = ues.subband(view, rbg).0;
        }
        SchedulerUe {
            number: user.number,
            backlog_bytes: view.queue.0,
            delay_s: view.head_of_line.as_secs(),
            rank: view.rank,
            wideband_cqi: view.wideband.0,
            priority: user.class.priority(),
            delay_budget_s: user.class.delay_budget().as_secs(),
            gbr_bps: user.bearer.gbr.0,
            cqis,
            rates: self.rates.clone(),
            call: self.calls,
            slot: view.slot,
        }
    }

    fn decide(&mut self, tti: Tti, is_repeated: bool, free: Rbgs, ues: &Candidates<'_>, grants: &mut Grants) {
        if ues.users.is_empty() {
            return;
        }
        self.calls += 1;
        let decided = self.object.call("allocate", |py| {
            let users = PyList::new(
                py,
                ues.users
                    .iter()
                    .map(|view| self.ue(view, ues))
                    .map(|ue| Py::new(py, ue).expect("memory suffices")),
            )?;
            let rbgs = free.iter().map(u16::from).collect();
            let tti = SchedulerTti { number: tti.0, rbgs, ues: users.unbind(), is_repeated };
            let returned = self.allocate.call1(py, (tti,))?.into_bound(py);
            self.read(&returned, free)
        });
        for (rbg, slot) in decided.unwrap_or_default() {
            grants.give(slot, Rbgs::one(rbg));
        }
    }

    /// Reads an answer: who gets which RBG. An RBG in which a UE is out of range stays unused.
    fn read(&self, returned: &Bound<'_, PyAny>, free: Rbgs) -> Result<Vec<(u8, UeSlot)>, Wrong> {
        let count = free.count() as usize;
        let wrong = |what: String| {
            Wrong::Value(format!(
                "returns {what}; it must return a list with a UE of tti.ues, or None, for each of the {count} RBGs of \
                 tti.rbgs"
            ))
        };
        let Ok(answers) = returned.cast::<PyList>() else { return Err(wrong(shown(returned))) };
        if answers.len() != count {
            return Err(wrong(format!("a list of {}", answers.len())));
        }
        let mut given = Vec::with_capacity(count);
        for (rbg, answer) in free.iter().zip(answers.iter()) {
            if answer.is_none() {
                continue;
            }
            let ue = answer.cast::<SchedulerUe>().ok().map(|ue| ue.get());
            let Some(ue) = ue.filter(|ue| ue.call == self.calls && Arc::ptr_eq(&ue.rates, &self.rates))
            else {
                return Err(wrong(format!("{} for RBG {rbg}", shown(&answer))));
            };
            let cqi = match self.link_adaptation {
                LinkAdaptation::Wideband => ue.wideband_cqi,
                LinkAdaptation::LowestSubband => ue.cqi(rbg.into()),
            };
            if cqi > 0 {
                given.push((rbg, ue.slot));
            }
        }
        Ok(given)
    }
}

impl Scheduler for Allocator {
    fn allocate(&mut self, tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        self.decide(tti, false, free, &ues, grants);
    }

    fn on_served(&mut self, served: &[(UeSlot, Bytes)]) {
        self.object.notify("on_served", self.on_served.as_ref(), |py| {
            let bytes = PyDict::new(py);
            for (slot, size) in served {
                bytes.set_item(self.users[slot.index()].number, size.0)?;
            }
            (bytes,).into_pyobject(py)
        });
    }
}

impl Capabilities for Allocator {
    fn properties(&self) -> Properties {
        Properties::new(self.link_adaptation)
    }

    fn per_ue(&mut self) -> Option<&mut dyn PerUe> {
        Some(self)
    }

    fn by_delay(&mut self) -> Option<&mut dyn ByDelay> {
        Some(self)
    }

    fn second_pass(&mut self) -> Option<&mut dyn SecondPass> {
        Some(self)
    }
}

impl PerUe for Allocator {
    fn admit(&mut self, slot: UeSlot, bearer: &Bearer) {
        let user = User { number: self.admissions, bearer: *bearer, class: bearer.qci };
        self.admissions += 1;
        match self.users.get_mut(slot.index()) {
            Some(place) => *place = user,
            None => self.users.push(user),
        }
        self.object.notify("on_admit", self.on_admit.as_ref(), |py| (user.number,).into_pyobject(py));
    }

    fn release(&mut self, slot: UeSlot) {
        let number = self.users[slot.index()].number;
        self.object.notify("on_release", self.on_release.as_ref(), |py| (number,).into_pyobject(py));
    }

    fn on_idle(&mut self, ttis: u64) {
        self.object.notify("on_idle", self.on_idle.as_ref(), |py| (ttis,).into_pyobject(py));
    }
}

impl ByDelay for Allocator {
    fn lead(&mut self, slot: UeSlot, class: Qci) {
        self.users[slot.index()].class = class;
    }
}

impl SecondPass for Allocator {
    fn allocate_again(&mut self, tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        self.decide(tti, true, free, &ues, grants);
    }
}
