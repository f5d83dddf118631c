//! A simulation that its owner advances, observes and steers.

use super::Simulation;
use super::memory::Memory;
use super::views::{CellView, FlowView, UeView};
use crate::results::outcome::Outcome;
use crate::results::records::{self, Records};
use crate::results::table::Table;
use crate::results::tap::Tap;
use crate::scenario::Scenario;
use airwnd_catalog::Error;
use airwnd_cell::{CellFigures, UeId};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::borrow::Cow;

/// A simulation in steps: time passes when its owner [advances](Session::advance) it, and between two steps the owner
/// reads the state of flows and UEs and sets windows, rates and weights.
///
/// A session that is advanced to the end of its scenario and steers nothing has the results of [`run`](crate::run).
pub struct Session<'s> {
    simulation: Simulation<'s>,
    now: Time,
    /// Error that has ended it.
    failed: Option<Error>,
}

impl<'s> Session<'s> {
    /// Prepares a session at the beginning of the warm-up.
    ///
    /// # Errors
    /// No flows, a network that cannot be built, or records that the scenario cannot provide.
    pub fn new(
        scenario: impl Into<Cow<'s, Scenario>>,
        seed: u64,
        records: &Records,
    ) -> Result<Session<'s>, Error> {
        Session::tapped(scenario, seed, records, None)
    }

    /// Prepares a session that passes every packet at every node, and the records of the radio interface, to the tap.
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn tapped(
        scenario: impl Into<Cow<'s, Scenario>>,
        seed: u64,
        records: &Records,
        tap: Option<Box<dyn Tap + 's>>,
    ) -> Result<Session<'s>, Error> {
        let scenario = scenario.into();
        scenario.check_flows()?;
        let simulation = Simulation::new(scenario, seed, records, tap, Vec::new())?;
        Ok(Session { simulation, now: Time::ZERO, failed: None })
    }

    /// Prepares a session whose owner takes the rows of the records as they appear: a memory limit does not count them.
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn streaming(
        scenario: impl Into<Cow<'s, Scenario>>,
        seed: u64,
        records: &Records,
        tap: Option<Box<dyn Tap + 's>>,
    ) -> Result<Session<'s>, Error> {
        let scenario = scenario.into();
        let memory = Memory::of(&scenario, &Records { series: None, ..records.clone() })?;
        let mut session = Session::tapped(scenario, seed, &Records { memory: None, ..records.clone() }, tap)?;
        session.simulation.memory = memory;
        session.simulation.watch_memory(Time::ZERO);
        Ok(session)
    }

    /// Current time, from the beginning of the warm-up.
    pub fn now(&self) -> Time {
        self.now
    }

    /// End of the warm-up, from which results count the time.
    pub fn begin(&self) -> Time {
        self.simulation.begin
    }

    /// End of the scenario. The session can be advanced beyond it, but no flow arrives later.
    pub fn end(&self) -> Time {
        self.simulation.begin + self.simulation.scenario.duration
    }

    /// Executes all events until `to`, or none if that is not in the future.
    ///
    /// # Errors
    /// A failed congestion control of a plug-in, or the memory limit. The session has ended, and each further call
    /// returns the same error.
    pub fn advance(&mut self, to: Time) -> Result<(), Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        while let Some((now, happening)) = self.simulation.step(to) {
            if let Err(error) = self.simulation.handle(now, happening) {
                self.failed = Some(error.clone());
                return Err(error);
            }
        }
        self.now = self.now.max(to);
        Ok(())
    }

    /// Number of flows. Flows that arrive later are among them.
    pub fn flows(&self) -> u32 {
        self.simulation.flows.len() as u32
    }

    /// Number of UEs.
    pub fn ues(&self) -> u32 {
        self.simulation.scenario.ue.iter().map(|group| group.count).sum()
    }

    /// Id of a flow in results.
    pub fn flow_id(&self, flow: u32) -> String {
        self.simulation.flow_id(flow)
    }

    /// Id of the group of a flow.
    pub fn group_id(&self, flow: u32) -> &str {
        &self.simulation.groups[self.simulation.flows[flow as usize].group as usize].id
    }

    /// UE of a flow.
    pub fn ue_of(&self, flow: u32) -> u32 {
        self.simulation.flows[flow as usize].ue
    }

    /// State of a flow.
    pub fn flow(&self, flow: u32) -> FlowView {
        self.simulation.flow_view(flow)
    }

    /// State of a UE.
    pub fn ue(&mut self, ue: u32) -> UeView {
        self.simulation.ue_view(self.now, ue)
    }

    /// Sets cwnd of the sender of a flow. Its congestion control goes on from there; `fixed` keeps it.
    ///
    /// # Errors
    /// A flow without a connection: UDP, or not started, or over.
    pub fn set_cwnd(&mut self, flow: u32, cwnd: Bytes) -> Result<(), Error> {
        self.steer_sender(flow, |cc| {
            cc.set_cwnd(cwnd);
            true
        })
    }

    /// Sets the pacing rate of the sender of a flow; `None`: no pacing.
    ///
    /// # Errors
    /// A flow without a connection, or a congestion control that sets its own pacing rate: only `fixed` takes one.
    pub fn set_pacing_rate(&mut self, flow: u32, rate: Option<BitRate>) -> Result<(), Error> {
        self.steer_sender(flow, |cc| cc.pace_at(rate))
    }

    /// Sets the maximum receive window of a flow. A smaller one takes back nothing that was offered.
    ///
    /// # Errors
    /// A flow without a connection, or a receive-window control that computes its own window: only `fixed` takes one.
    pub fn set_rwnd(&mut self, flow: u32, window: Bytes) -> Result<(), Error> {
        let (now, direction) = (self.now, self.simulation.flows[flow as usize].direction);
        let Some(connection) = &mut self.simulation.flows[flow as usize].connection else {
            return Err(self.without_connection(flow));
        };
        if !connection.receiver(direction).endpoint.set_window(window) {
            return Err(self.refused(flow, "rwnd", "fixed", "receive-window control computes its window"));
        }
        self.simulation.pump(now, flow, direction.reverse());
        Ok(())
    }

    /// Sets the rate of the source of a flow, from its next datagram on.
    ///
    /// # Errors
    /// A source without a rate, or with off periods: `cbr` and continuous `video` and `ftp` take one.
    pub fn set_rate(&mut self, flow: u32, rate: BitRate) -> Result<(), Error> {
        if self.simulation.flows[flow as usize].source.set_rate(rate) {
            return Ok(());
        }
        Err(self.refused(flow, "traffic", "cbr, or video and ftp without off periods", "source has no rate"))
    }

    /// Sets the weight of a UE, a positive number, by which its metric in the downlink scheduler is multiplied; 1 before.
    ///
    /// # Errors
    /// No cells, or a scheduler without weights: `pf`, `bet`, `m-lwdf` and `exp-pf` have them.
    pub fn set_weight(&mut self, ue: u32, weight: f64) -> Result<(), Error> {
        if self.simulation.network.ran_mut().is_some_and(|ran| ran.set_weight(UeId(ue), weight)) {
            return Ok(());
        }
        let message = "UEs have no weights: set mac.scheduler to pf, bet, m-lwdf or exp-pf";
        Err(Error::new(&self.simulation.scenario.name, None, message))
    }

    /// Sets the rates of the shapers of a UE, downlink and uplink; `None`: no limit.
    ///
    /// # Errors
    /// No shapers, or shapers that determine their rates themselves: only `fixed` takes them.
    pub fn set_shaper(&mut self, ue: u32, rates: [Option<BitRate>; 2]) -> Result<(), Error> {
        if self.simulation.set_shaper(ue, rates) {
            return Ok(());
        }
        let message = format!("UE {ue} has no shapers that take rates: set its shaper.rates to fixed");
        Err(Error::new(&self.simulation.scenario.name, None, message))
    }

    /// Use of every cell; empty without cells.
    pub fn cells(&self) -> Vec<CellView> {
        let figures = self.simulation.network.ran().map(|ran| ran.cell_figures());
        let view = |cell: CellFigures| CellView {
            used: cell.downlink_prbs,
            offered_per_tti: cell.shares[0] * f64::from(cell.prbs[0].0),
        };
        figures.into_iter().flatten().map(view).collect()
    }

    /// Duration of a TTI; `None` without cells.
    pub fn tti(&self) -> Option<Span> {
        self.simulation.network.ran().map(|ran| ran.clock().slot())
    }

    /// Takes the rows of the time series since the last call; no columns if the records have none.
    pub fn take_series(&mut self) -> Table {
        let ids = self.ids();
        let record = self.simulation.record.as_mut();
        record.map_or_else(Table::new, |record| std::mem::take(&mut record.series).table(&ids))
    }

    /// Takes the events of the flows since the last call; no columns if the records have no time series.
    pub fn take_events(&mut self) -> Table {
        let ids = self.ids();
        let record = self.simulation.record.as_mut();
        record.map_or_else(Table::new, |record| std::mem::take(&mut record.incidents).table(&ids))
    }

    /// Takes the downlink transmissions since the last call; no columns if the records have none.
    pub fn take_allocations(&mut self) -> Table {
        let Simulation { network, begin, .. } = &mut self.simulation;
        let rows = network.ran_mut().and_then(|ran| Some((ran.take_allocations()?, ran.clock())));
        rows.map_or_else(Table::new, |(rows, clock)| records::table_of(&rows, clock, *begin))
    }

    /// Ids of the flows, if there are records that name them.
    fn ids(&self) -> Vec<String> {
        match self.simulation.record {
            Some(_) => (0..self.flows()).map(|flow| self.flow_id(flow)).collect(),
            None => Vec::new(),
        }
    }

    /// Ends the session and returns its results so far.
    pub fn finish(mut self) -> Outcome {
        let begin = self.simulation.begin;
        self.simulation.measured = Span(self.now.since(begin.min(self.now)).0.max(1));
        self.simulation.finish()
    }

    fn steer_sender(
        &mut self,
        flow: u32,
        steer: impl FnOnce(&mut dyn airwnd_tcp::cc::CongestionControl) -> bool,
    ) -> Result<(), Error> {
        let (now, direction) = (self.now, self.simulation.flows[flow as usize].direction);
        let Some(connection) = &mut self.simulation.flows[flow as usize].connection else {
            return Err(self.without_connection(flow));
        };
        if !steer(connection.sender(direction).endpoint.cc_mut()) {
            return Err(self.refused(flow, "cc", "fixed", "congestion control sets its pacing rate"));
        }
        self.simulation.pump(now, flow, direction);
        Ok(())
    }

    fn without_connection(&self, flow: u32) -> Error {
        let message = format!("flow {} has no TCP connection at this time", self.flow_id(flow));
        Error::new(&self.simulation.scenario.name, None, message)
    }

    /// Error for a flow whose `key` does not take a value from outside, which the values `takes` do.
    fn refused(&self, flow: u32, key: &str, takes: &str, why: &str) -> Error {
        let message = format!("flow {}: its {why}; set {key} to {takes}", self.flow_id(flow));
        Error::new(&self.simulation.scenario.name, None, message)
    }
}
