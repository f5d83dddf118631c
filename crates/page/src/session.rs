//! Scenarios and simulations.

use crate::packets::Packets;
use airwnd_catalog::{Error, Node};
use airwnd_lab::radio::{Layer, RadioFilter};
use airwnd_lab::tap::Tap;
use airwnd_lab::{CellView, Records, Scenario, Table, UeView};
use airwnd_units::{BitRate, Bytes, Span, Time};
use serde_json::{Value as Json, json};

/// Name of the source of a scenario in messages, as a reader sees it.
const ORIGIN: &str = "scenario";

/// A checked scenario, and its source.
pub struct Checked {
    node: Node,
    scenario: Scenario,
}

impl Checked {
    /// Reads a scenario from TOML, with other values of some keys, as `airwnd run --set` has them.
    ///
    /// # Errors
    /// An invalid scenario, in one line.
    pub fn new(toml: &str, overrides: &[(String, String)]) -> Result<Checked, Error> {
        let mut node = Node::from_toml(toml, ORIGIN)?;
        for (key, value) in overrides {
            node.set(key, value)?;
        }
        let scenario = Scenario::from_node(&node)?;
        Ok(Checked { node, scenario })
    }

    /// Seed that the scenario states.
    pub fn seed(&self) -> u64 {
        self.scenario.seed
    }

    /// All values, defaults included, as JSON.
    pub fn resolved(&self) -> String {
        self.scenario.to_json().to_string()
    }

    /// Values that the scenario writes, in their order, each with key and line, as JSON.
    ///
    /// # Errors
    /// A value that JSON does not have.
    pub fn written(&self) -> Result<String, Error> {
        let leaf = |(key, node): (String, &Node)| {
            node.to_json().map(|value| json!({"key": key, "line": node.line(), "value": value}))
        };
        let leaves = self.node.leaves().into_iter().map(leaf).collect::<Result<Json, Error>>();
        leaves.map(|leaves| leaves.to_string())
    }

    /// Cells by columns: number, site, position, boresight.
    pub fn cells(&self) -> Table {
        if self.scenario.site.is_empty() { Table::new() } else { self.scenario.cells_table() }
    }

    /// Begins a simulation with a seed. `interval` is the sampling interval of the time series, `memory` the limit of
    /// the simulation's memory in bytes, and `watched` the UE whose packets and blocks are recorded. A session with time
    /// series also has the downlink transmissions of its cells.
    ///
    /// # Errors
    /// A scenario that cannot be simulated, in one line.
    pub fn begin(
        &self,
        seed: u64,
        interval: Option<Span>,
        memory: Bytes,
        watched: Option<u32>,
    ) -> Result<Session, Error> {
        let Scenario { duration, warmup, .. } = self.scenario;
        let has_cells = !self.scenario.site.is_empty();
        let begin = Time::ZERO + warmup;
        let filter = |ue| RadioFilter {
            layers: Layer::ALL.map(|layer| layer != Layer::Rrc),
            ues: Some([ue].into()),
            window: begin..begin + Span::MAX,
        };
        let records = Records {
            series: interval,
            allocations: (interval.is_some() && has_cells).then_some(Span::ZERO..duration),
            radio: watched.filter(|_| has_cells).map(filter),
            memory: Some(memory),
            ..Records::default()
        };
        let packets = watched.map(|ue| Packets::new(ue, begin));
        let tap = packets.clone().map(|packets| Box::new(packets) as Box<dyn Tap>);
        let inner = airwnd_lab::Session::streaming(self.scenario.clone(), seed, &records, tap)
            .map_err(|error| error.located(&self.scenario.name, &self.node))?;
        Ok(Session { inner, packets })
    }
}

/// A simulation that advances in steps.
pub struct Session {
    inner: airwnd_lab::Session<'static>,
    packets: Option<Packets>,
}

impl Session {
    /// Executes the events of a span, at most to the end of the scenario. Returns whether the end is reached.
    ///
    /// # Errors
    /// The memory limit.
    pub fn advance(&mut self, span: Span) -> Result<bool, Error> {
        let end = self.inner.end();
        let now = self.inner.now();
        self.inner.advance(if end.since(now) <= span { end } else { now + span })?;
        Ok(self.inner.now() >= end)
    }

    /// Present in seconds from the end of the warm-up; negative during the warm-up.
    pub fn now_s(&self) -> f64 {
        let (now, begin) = (self.inner.now(), self.inner.begin());
        if now >= begin { now.since(begin).as_secs() } else { -begin.since(now).as_secs() }
    }

    /// Duration of a TTI in milliseconds; one without cells.
    pub fn tti_ms(&self) -> f64 {
        self.inner.tti().map_or(1.0, Span::as_millis)
    }

    /// Rows of the time series since the last call.
    pub fn series(&mut self) -> Table {
        self.inner.take_series()
    }

    /// Events of the flows since the last call.
    pub fn events(&mut self) -> Table {
        self.inner.take_events()
    }

    /// Downlink transmissions since the last call.
    pub fn allocations(&mut self) -> Table {
        self.inner.take_allocations()
    }

    /// Stages of the watched UE's packets since the last call, at most the newest 65,536; no columns without such a UE.
    ///
    /// `stage` is `sent` by an end, `queued` at the eNB, `block` when a part of it is put into a transport block,
    /// `received` by the other end, or `dropped`. `id` is the number of the packet among those of its flow and direction,
    /// modulo 65,536.
    pub fn packets(&self) -> Table {
        self.packets.as_ref().map_or_else(Table::new, Packets::take_packets)
    }

    /// Transmissions of the watched UE's transport blocks since the last call, at most the newest 65,536. The content of a
    /// block of this direction and process are the packets that were put into it before its first transmission.
    pub fn blocks(&self) -> Table {
        self.packets.as_ref().map_or_else(Table::new, Packets::take_blocks)
    }

    /// Flows, as a JSON array of objects with id, group and number of the UE.
    pub fn flows(&self) -> String {
        let flow = |number: u32| {
            let (id, group) = (self.inner.flow_id(number), self.inner.group_id(number));
            json!({"id": id, "group": group, "ue": self.inner.ue_of(number)})
        };
        (0..self.inner.flows()).map(flow).collect::<Json>().to_string()
    }

    /// State of the UEs, six numbers for each: position east and north in metres, serving cell, SINR in dB, queued bytes
    /// and packets. NaN where there is no value.
    pub fn ues(&mut self) -> Vec<f64> {
        let numbers = |ue: UeView| {
            let [x, y] = ue.position_m.unwrap_or([f64::NAN; 2]);
            let cell = ue.cell.map_or(f64::NAN, f64::from);
            let queue = [ue.queue_bytes.0 as f64, ue.queue_packets as f64];
            [x, y, cell, ue.sinr_db.unwrap_or(f64::NAN), queue[0], queue[1]]
        };
        (0..self.inner.ues()).flat_map(|ue| numbers(self.inner.ue(ue))).collect()
    }

    /// Sets a value of a flow, or for `weight` of a UE: `cwnd` and `rwnd` in bytes, `pacing` and `rate` in bit/s.
    ///
    /// # Errors
    /// An unknown value, flow or UE, or one that takes no such value, as with [`airwnd_lab::Session`].
    pub fn set(&mut self, what: &str, number: u32, value: f64) -> Result<(), Error> {
        let fail = |message: String| Err(Error::new(ORIGIN, None, message));
        let count = if what == "weight" { self.inner.ues() } else { self.inner.flows() };
        if number >= count {
            return fail(format!("there is no {} {number}", if what == "weight" { "UE" } else { "flow" }));
        }
        if !(value > 0.0 && value <= 1e12) {
            return fail(format!("{what}: {value} is not a positive number up to 1e12"));
        }
        let whole = value.round() as u64;
        match what {
            "cwnd" => self.inner.set_cwnd(number, Bytes(whole)),
            "rwnd" => self.inner.set_rwnd(number, Bytes(whole)),
            "pacing" => self.inner.set_pacing_rate(number, Some(BitRate(whole))),
            "rate" => self.inner.set_rate(number, BitRate(whole)),
            "weight" => self.inner.set_weight(number, value),
            _ => fail(format!("{what}: unknown value; expected cwnd, rwnd, pacing, rate or weight")),
        }
    }

    /// Use of the cells, two numbers for each: PRBs used so far, and PRBs per TTI that data can use.
    pub fn cells(&self) -> Vec<f64> {
        let numbers = |cell: CellView| [cell.used as f64, cell.offered_per_tti];
        self.inner.cells().into_iter().flat_map(numbers).collect()
    }

    /// Ends the simulation. Returns its results as JSON, as `airwnd run --json` has them.
    pub fn finish(self) -> String {
        serde_json::to_string(&self.inner.finish()).expect("figures are values of JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_lab::{Column, run};

    const CELL: &str = "duration = \"1s\"\n[[site]]\n[[ue]]\ncount = 2\n[[flow]]\nid = \"bulk\"\n";
    const MEMORY: Bytes = Bytes(1 << 30);

    fn set(key: &str, value: &str) -> Vec<(String, String)> {
        vec![(key.into(), value.into())]
    }

    fn checked(toml: &str) -> Checked {
        Checked::new(toml, &[]).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn errors_are_those_of_the_command_line() {
        let message = |toml: &str, overrides: &[_]| Checked::new(toml, overrides).err().unwrap().to_string();
        let unknown = message(&CELL.replace("count", "cuont"), &[]);
        assert!(
            unknown.starts_with("scenario:4: ue[0]: unknown key `cuont`; did you mean `count`?"),
            "{unknown}"
        );
        assert!(message(CELL, &set("flow[0].cc", "cubicc")).contains("did you mean `cubic`?"));
        assert!(message("duration = [", &[]).starts_with("scenario:1: "));
        let few = checked(CELL).begin(1, None, Bytes(1000), None).err().unwrap().to_string();
        assert!(few.contains("memory limit") && !few.contains('\n'), "{few}");
    }

    #[test]
    fn files_of_the_machine_are_not_read() {
        let toml = format!(
            "{CELL}traffic = {{kind = \"web\"}}\n[[link]]\nrate = {{kind = \"trace\", file = \"/x\"}}\n"
        );
        let message = Checked::new(&toml, &[]).err().unwrap().to_string();
        assert!(!message.contains('\n'), "{message}");
    }

    #[test]
    fn a_session_has_the_results_of_a_run() {
        let checked = checked(CELL);
        let mut session = checked.begin(7, Some(Span::from_millis(20)), MEMORY, None).unwrap();
        let mut rows = 0;
        let mut ended = false;
        while !ended {
            ended = session.advance(Span::from_millis(70)).unwrap();
            let series = session.series();
            let Column::F64(times) = &series[0].1 else { panic!("times are numbers") };
            rows += times.len();
        }
        // Two flows, a row every 20 ms.
        assert_eq!(rows, 2 * 50);
        let outcome = run(&checked.scenario, 7, Some(Span::from_millis(20)), &mut |_| true).unwrap();
        assert_eq!(session.now_s(), 1.0);
        assert_eq!(session.finish(), outcome.to_json().to_string());
    }

    #[test]
    fn numbers_are_flat() {
        let mut session = checked(CELL).begin(1, None, MEMORY, None).unwrap();
        session.advance(Span::from_secs(1)).unwrap();
        let ues = session.ues();
        assert_eq!(ues.len(), 2 * 6);
        assert_eq!(ues[2], 0.0);
        assert!(ues[4] > 0.0 && ues[5] > 0.0, "{ues:?}");
        let [used, offered] = session.cells().try_into().unwrap();
        // 10 MHz: 50 PRBs.
        assert_eq!(offered, 50.0);
        assert!(used > 50.0 * 100.0 && used <= 50.0 * 1000.0, "{used}");
        assert_eq!(
            session.flows(),
            r#"[{"id":"bulk-0","group":"bulk","ue":0},{"id":"bulk-1","group":"bulk","ue":1}]"#
        );
    }

    #[test]
    fn a_value_that_is_set_takes_effect() {
        let toml = format!("{CELL}cc = \"fixed\"\nrwnd = \"fixed\"\n");
        let mut session = checked(&toml).begin(1, None, MEMORY, None).unwrap();
        session.advance(Span::from_secs(1)).unwrap();
        let message = |result: Result<(), Error>| result.unwrap_err().to_string();
        assert!(
            message(session.set("cwind", 0, 1e4)).ends_with("expected cwnd, rwnd, pacing, rate or weight")
        );
        assert!(message(session.set("cwnd", 9, 1e4)).ends_with("there is no flow 9"));
        assert!(message(session.set("cwnd", 0, f64::NAN)).contains("is not a positive number"));
        assert!(message(session.set("rate", 0, 1e6)).contains("its source has no rate"));
        session.set("rwnd", 0, 3000.0).unwrap();
        session.set("weight", 1, 2.0).unwrap();
        session.advance(Span::from_millis(400)).unwrap();
        let queue = session.ues()[4];
        assert!(queue <= 3000.0 + 2.0 * 1500.0, "{queue}");
    }

    #[test]
    fn links_have_neither_cells_nor_positions() {
        let toml = "duration = \"1s\"\n[[link]]\nrate = \"10Mbps\"\ndelay = \"20ms\"\n[[ue]]\n[[flow]]\n";
        let checked = checked(toml);
        let mut session = checked.begin(1, None, MEMORY, None).unwrap();
        session.advance(Span::from_millis(900)).unwrap();
        assert!(checked.cells().is_empty() && session.cells().is_empty());
        let ues = session.ues();
        assert!(ues[..4].iter().all(|value| value.is_nan()), "{ues:?}");
        assert!(ues[4] > 0.0, "{ues:?}");
    }

    /// A packet of each flow that is received was sent, queued and put into blocks before, in this order.
    #[test]
    fn packets_have_their_stages_in_order() {
        let toml =
            format!("{CELL}[[flow]]\nid = \"game\"\ntraffic = {{kind = \"cbr\", rate = \"48kbps\"}}\n");
        for toml in [
            toml.clone(),
            toml.replace("duration", "rlc.mode = \"um\"\nduration"),
            format!("radio.access = \"nr\"\n{toml}"),
        ] {
            let mut session = checked(&toml).begin(1, None, MEMORY, Some(0)).unwrap();
            session.advance(Span::from_millis(900)).unwrap();
            let packets = session.packets();
            let whole = |name: &str| match packets.iter().find(|(column, _)| column == name) {
                Some((_, Column::U32(values) | Column::Words(values, _))) => values.clone(),
                _ => panic!("{name}"),
            };
            let [stages, flows, up, ids, process] = ["stage", "flow", "up", "id", "process"].map(whole);
            let mut seen = std::collections::BTreeMap::<_, Vec<u32>>::new();
            for row in 0..stages.len() {
                assert!(flows[row] == 0 || flows[row] == 2, "flows of the watched UE");
                assert_eq!(process[row] != airwnd_lab::NOTHING, stages[row] == 2);
                seen.entry((flows[row], up[row], ids[row])).or_default().push(stages[row]);
            }
            let mut received = 0;
            for ((_, up, _), mut stages) in seen {
                stages.dedup();
                if stages.last() != Some(&3) {
                    continue;
                }
                received += 1;
                assert_eq!(stages, if up == 1 { vec![0, 2, 3] } else { vec![0, 1, 2, 3] });
            }
            assert!(received > 100, "{received}");
            let Column::F64(times) = &session.blocks()[0].1 else { panic!("times are numbers") };
            assert!(times.len() > 100 && times.is_sorted());
            assert!(session.packets()[0].1 == Column::F64(vec![]), "they are taken once");
        }
    }

    #[test]
    fn a_watched_ue_changes_no_results() {
        let checked = checked(CELL);
        let figures = |watched| {
            let mut session = checked.begin(3, None, MEMORY, watched).unwrap();
            session.advance(Span::from_secs(2)).unwrap();
            session.finish()
        };
        assert_eq!(figures(Some(1)), figures(None));
    }
}
