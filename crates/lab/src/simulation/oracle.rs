//! Exact state of the path to a UE, for oracle controllers.

use super::Simulation;
use super::devices::{Links, Share, Sizes, Taken, UeState};
use airwnd_cell::{Ran, UeId};
use airwnd_kernel::Direction;
use airwnd_rwnd::DeviceLink;
use airwnd_units::{BitRate, Bytes, Span, Time, Tti};

/// Interval at which link shares are re-evaluated.
const UPDATE: Span = Span::from_millis(10);
/// Weight of a new sample in the mean rate of a flow: one packet per 20 ms counts as a stream, not as a burst.
const TAKEN_GAIN: f64 = 0.1;
/// Weight of a new sample in the mean capacity of a cell for a UE: fading averages out over about 50 ms, as it does
/// within an RTT.
const CELL_GAIN: f64 = 0.2;
/// Weight of a new sample in the bytes of decoded blocks: those of about a second.
const DECODED_GAIN: f64 = 0.01;
/// Rate of an unlimited link in bit/s.
const UNLIMITED: f64 = 1e12;

/// Rate in bit/s of this many bytes per slot.
fn rate_of(bytes: f64, slot: Span) -> f64 {
    8.0 * bytes / slot.as_secs()
}

impl Simulation<'_> {
    /// Allocates the state of the links, if a receive-window control requires it.
    pub(super) fn track_links(&mut self) {
        if !self.scenario.flow.iter().any(|group| group.rwnd.capabilities().needs.link) {
            return;
        }
        let cells = self.network.ran().map_or(0, |ran| ran.cell_figures().count());
        self.devices.links = Some(Box::new(Links {
            updated: None,
            of_links: vec![Share::default(); self.network.links().count()],
            of_cells: vec![Share::default(); cells],
            ues: vec![UeState::default(); self.network.devices()],
            flows: vec![Taken::default(); self.flows.len()],
        }));
    }

    /// Returns the state of the path to a UE for a flow with these sizes: the available payload rate of full segments
    /// for all its connections together, and the base RTT.
    ///
    /// The rate is the minimum over the path. For a wire it is the link rate. For a link trace it is the capacity that
    /// arrives within the next RTT (the oracle knows the future). For a cell it is the rate of the latest CQI report
    /// over the whole carrier, times the ratio of decoded bytes and reports in the last second. Each is shared as by a
    /// fair scheduler.
    ///
    /// The base RTT is computed from the path: propagation delays, transmission of a full segment and of its ACK, and
    /// the latency of an idle cell. The minimum RTT measured by a flow is not used, since it may include standing
    /// queues.
    pub(super) fn link_to(&mut self, now: Time, ue: u32, sizes: &Sizes) -> DeviceLink {
        let mut links = self.devices.links.take().expect("allocated if a controller requires it");
        if links.updated.is_none_or(|updated| now.since(updated) >= UPDATE) {
            self.update_links(now, &mut links);
        }
        let state = &mut links.ues[ue as usize];
        let (mut cell, mut crossing, mut slot) = (None, Span::ZERO, Tti::SPAN);
        if let Some(ran) = self.network.ran_mut() {
            state.whole_cell = state.whole_cell.or_else(|| ran.whole_cell(UeId(ue)));
            cell = Some(ran.cell_of(UeId(ue)).0);
            (crossing, slot) = (ran.downlink_crossing(), ran.clock().slot());
        }
        let state = *state;
        let payload =
            |step: f64, around: Bytes| step * sizes.payload.0 as f64 / (sizes.segment + around).0 as f64;
        let mut rate: f64 = UNLIMITED;
        // Delay from the end of a link to the UE.
        let mut behind = Span::ZERO;
        if let Some(cell) = cell {
            let part = links.of_cells[usize::from(cell)].part(1.0, state.is_greedy);
            rate = payload(rate_of(state.whole_cell_decoded(), slot) * part, Bytes::ZERO);
            behind = crossing;
        }
        let wait = self.until_next_ack(now, ue, behind, sizes);
        let base_rtt = wait + self.base_rtt(now + wait, ue, &links, sizes);
        for number in self.network.links_of(ue, Direction::Down).rev() {
            let link = self.network.link(number).down.link();
            behind += link.delay(now);
            let from = Time(now.0.saturating_sub(behind.0));
            if let Some(whole) = link.rate_between(from, from + base_rtt) {
                let part = links.of_links[number.0 as usize].part(whole.0 as f64, state.is_greedy);
                rate = rate.min(payload(part, link.framing()));
            }
        }
        self.devices.links = Some(links);
        DeviceLink { rate: BitRate(rate as u64), base_rtt }
    }

    /// Re-evaluates the sharing of links and cells.
    fn update_links(&mut self, now: Time, links: &mut Links) {
        let since = now.since(links.updated.unwrap_or(Time::ZERO)).max(Span::from_nanos(1));
        // The weight of a sample grows with the time since the last update, so that old samples expire.
        let intervals =
            if links.updated.is_some() { since.as_secs() / UPDATE.as_secs() } else { f64::INFINITY };
        let gain = |of_one: f64| (of_one * intervals).min(1.0);
        links.updated = Some(now);
        links.of_links.fill(Share::default());
        links.of_cells.fill(Share::default());
        for state in &mut links.ues {
            (state.is_greedy, state.receives) = (false, false);
        }
        links.flows.resize(self.flows.len(), Taken::default());
        for (flow, taken) in
            self.flows.iter().zip(&mut links.flows).filter(|(flow, _)| flow.direction == Direction::Down)
        {
            let received = std::mem::replace(&mut taken.received, flow.meter.received_bytes);
            let rate = (flow.meter.received_bytes - received).bits() as f64 / since.as_secs();
            let is_greedy = flow.sending().is_some_and(|sender| sender.has_more());
            taken.rate += gain(TAKEN_GAIN) * (rate - taken.rate);
            let state = &mut links.ues[flow.ue as usize];
            state.is_greedy |= is_greedy;
            state.receives |= taken.rate > 0.0;
            taken.counts = !is_greedy && taken.rate > 0.0;
        }
        for ue in 0..links.ues.len() as u32 {
            let state = &mut links.ues[ue as usize];
            if !(state.is_greedy || state.receives) {
                continue;
            }
            let (greedy, modest) = (u32::from(state.is_greedy), u32::from(!state.is_greedy));
            if let Some(ran) = self.network.ran_mut() {
                let cell = ran.cell_of(UeId(ue)).0;
                if let Some(whole) = ran.whole_cell(UeId(ue)) {
                    let former = state.whole_cell.unwrap_or(whole);
                    state.whole_cell = Some(former + gain(CELL_GAIN) * (whole - former));
                }
                // The cost of UEs that are not backlogged is counted in PRBs, padding included.
                let ttis = since.as_secs() / ran.clock().slot().as_secs();
                let (blocks, prbs) = (ran.downlink_blocks(UeId(ue)), ran.downlink_prbs(UeId(ue)));
                state.note_blocks(&blocks, prbs, ttis, [TAKEN_GAIN, DECODED_GAIN].map(gain));
                let share = &mut links.of_cells[usize::from(cell)];
                if modest > 0 {
                    share.taken += state.taken;
                }
                (share.greedy, share.modest) = (share.greedy + greedy, share.modest + modest);
            }
            for number in self.network.links_of(ue, Direction::Down) {
                let share = &mut links.of_links[number.0 as usize];
                (share.greedy, share.modest) = (share.greedy + greedy, share.modest + modest);
            }
        }
        for (flow, taken) in self.flows.iter().zip(&links.flows).filter(|(_, taken)| taken.counts) {
            for number in self.network.links_of(flow.ue, Direction::Down) {
                links.of_links[number.0 as usize].taken += taken.rate;
            }
            let state = &links.ues[flow.ue as usize];
            let whole = state.whole_cell_decoded();
            if let Some(ran) = self.network.ran().filter(|_| state.is_greedy && whole > 0.0) {
                let cell = ran.cell_of(UeId(flow.ue)).0;
                links.of_cells[usize::from(cell)].taken += taken.rate / rate_of(whole, ran.clock().slot());
            }
        }
    }

    /// Returns the time until the segments covered by the next ACK can have arrived, as given by link traces.
    fn until_next_ack(&self, now: Time, ue: u32, mut behind: Span, sizes: &Sizes) -> Span {
        let mut wait = Span::ZERO;
        for number in self.network.links_of(ue, Direction::Down).rev() {
            let link = self.network.link(number).down.link();
            behind += link.delay(now);
            if link.rate().is_none() {
                let from = Time(now.0.saturating_sub(behind.0));
                wait = wait.max(link.transmission(from, sizes.segment * sizes.acked));
            }
        }
        wait
    }

    /// Returns the RTT of an empty network, from the transmission of an ACK at the UE to the arrival of a full segment.
    fn base_rtt(&self, now: Time, ue: u32, links: &Links, sizes: &Sizes) -> Span {
        let ran = self.network.ran();
        let mut at = now + ran.map_or(Span::ZERO, Ran::uplink_crossing);
        for link in self.network.links_of(ue, Direction::Up) {
            at += self.network.link(link).up.link().crossing(at, sizes.ack);
        }
        for link in self.network.links_of(ue, Direction::Down) {
            at += self.network.link(link).down.link().crossing(at, sizes.segment);
        }
        let wires = at.since(now);
        let Some(ran) = ran else { return wires };
        // Segments arrive at the UE at TTI boundaries, so the RTT is a whole number of TTIs.
        let whole = links.ues[ue as usize].whole_cell_decoded();
        let blocks = if whole > 0.0 { libm::ceil(sizes.segment.0 as f64 / whole) as u64 } else { 1 };
        let clock = ran.clock();
        Span((clock.count(wires) + blocks - 1) * clock.slot().0) + ran.downlink_crossing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Records, Scenario, run};
    use airwnd_catalog::Node;

    fn scenario(toml: &str, quirks: &str) -> Scenario {
        let mut scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
        scenario.set_quirks(quirks).unwrap();
        scenario
    }

    /// Path state of the first UE before any transmission.
    fn known(toml: &str, quirks: &str) -> DeviceLink {
        let scenario = scenario(toml, quirks);
        let sizes = Sizes::of(&scenario.tcp.config());
        let mut simulation =
            Simulation::new((&scenario).into(), 1, &Records::default(), None, Vec::new()).unwrap();
        simulation.link_to(Time::ZERO, 0, &sizes)
    }

    /// A sparse flow measures the base RTT, on each kind of path.
    #[test]
    fn the_base_rtt_equals_the_rtt_of_a_sparse_flow() {
        let flow = "[[ue]]\nplacement = {kind = \"ring\", radius = \"400m\"}\n\
                    [[flow]]\nrwnd = \"oracle\"\ntraffic = {kind = \"ftp\", rate = \"80kbps\", chunk = \"1000B\"}\n";
        let top = "preset = \"airwnd-0.1\"\nduration = \"3s\"\ntcp = {mss = 1000, delayed_ack_count = 1}\n";
        let far = "core = {server_rate = \"1Gbps\", server_delay = \"13.3ms\", s1u_delay = \"2ms\"}\n";
        let wire =
            "[[link]]\nrate = \"2Mbps\"\nrate_up = \"500kbps\"\ndelay = \"7ms\"\ndelay_up = \"11ms\"\n";
        let rates =
            "[[link]]\nname = \"recorded\"\nkind = \"trace\"\ndown = \"nyc-times\"\nrate_up = \"9Mbps\"\n";
        let narrow =
            "carrier.bandwidth = \"1.4MHz\"\nmac.request_period = \"1ms\"\n[[site]]\npower = \"0dBm\"\n";
        // With a period of one TTI the mean over phases equals the delay of a single UE.
        let often = "mac.request_period = \"1ms\"\n[[site]]\n";
        let (through, from_afar) = (format!("{far}{wire}"), format!("{far}{often}{wire}"));
        let routes = [wire, often, &through, &from_afar, narrow].map(|route| (route, ""));
        for (route, quirks) in routes.into_iter().chain([("[[site]]\n", "mac.buffer_reports = \"ideal\"")]) {
            let toml = format!("{top}{route}{flow}");
            let outcome = run(&scenario(&toml, quirks), 1, None, &mut |_| true).unwrap();
            let seen = outcome.flows()[0].rtt_ms.p50.unwrap();
            let known = known(&toml, quirks).base_rtt.as_millis();
            assert!((seen - known).abs() <= 1.0, "{seen} ms seen, {known} ms known over\n{route}");
        }
        // On a link trace the wait for the next delivery opportunity is included.
        let waits = known(&format!("{top}{rates}{flow}"), "").base_rtt;
        assert!(waits > Span::from_millis(20), "{waits}");
    }

    /// The rate is payload: 1000 of 1054 bytes on a wire with timestamps and framing.
    #[test]
    fn the_rate_is_the_minimum_over_the_path() {
        let rest = "[[ue]]\nplacement = {kind = \"ring\", radius = \"400m\"}\n[[flow]]\nrwnd = \"oracle\"\n";
        let rate = |links: &str| {
            known(&format!("preset = \"airwnd-0.1\"\nduration = \"1s\"\ntcp.mss = 1000\n{links}{rest}"), "")
                .rate
                .0 as f64
                / 1e6
        };
        let wire = |mbps: u32| format!("[[link]]\nname = \"l{mbps}\"\nrate = \"{mbps}Mbps\"\n");
        assert!((rate(&wire(5)) - 5.0 * 1000.0 / 1054.0).abs() < 1e-3);
        assert!((rate(&(wire(5) + &wire(3) + &wire(9))) - 3.0 * 1000.0 / 1054.0).abs() < 1e-3);
        // MCS 28 over 50 PRBs (16 RBGs of three PRBs and one of two): a block of 4395 bytes in each TTI.
        let cell = rate("[[site]]\n");
        assert!((cell - 4395.0 * 8.0 / 1052.0).abs() < 1e-3, "{cell}");
        assert!(rate(&("[[site]]\n".to_string() + &wire(5))) < 5.0);
    }

    /// In NR the rate is what the cell delivers, in each numerology, in FDD and in TDD, and the window for it fills the cell.
    #[test]
    fn the_rate_of_an_nr_cell_is_that_of_its_deliveries() {
        let fdd = "downlink_frequency = \"2.1GHz\"";
        let fr1 = "downlink_frequency = \"3.5GHz\"";
        let fr2 = "downlink_frequency = \"28GHz\"";
        for (numerology, carrier, bandwidth, pattern) in [
            (0, fdd, 20, ""),
            (1, fdd, 20, ""),
            (2, fdd, 20, ""),
            (0, fr1, 40, "DDDSU"),
            (1, fr1, 40, "DDDSU"),
            (2, fr1, 40, "DSUUU"),
            (2, fr2, 50, "DDDSU"),
            (3, fr2, 50, "DDDSU"),
            (3, fr2, 50, "DSUUU"),
        ] {
            let pattern =
                if pattern.is_empty() { String::new() } else { format!(", pattern = \"{pattern}\"") };
            let toml = |flow: &str| {
                format!(
                    "duration = \"12s\"\nwarmup = \"4s\"\ncarrier = {{bandwidth = \"{bandwidth}MHz\", {carrier}}}\n\
                     core = {{server_rate = \"10Gbps\", s1u_rate = \"10Gbps\"}}\n\
                     mac.scheduler = \"rr\"\n[radio]\nfading = \"none\"\nshadowing = \"none\"\n\
                     access = {{kind = \"nr\", numerology = {numerology}{pattern}}}\n[[site]]\n\
                     [[ue]]\nplacement = {{kind = \"ring\", radius = \"40m\"}}\n[[flow]]\n{flow}\n"
                )
            };
            let oracle = "rwnd = \"oracle\"";
            let goodput = |flow: &str| {
                run(&scenario(&toml(flow), ""), 1, None, &mut |_| true).unwrap().flows()[0].goodput_kbps * 1e3
            };
            let known = known(&toml(oracle), "").rate.0 as f64;
            let full = goodput("traffic = {kind = \"cbr\", rate = \"300Mbps\", packet = \"1400B\"}");
            let own = goodput(oracle);
            assert!((known / full - 1.0).abs() < 0.02, "{numerology}{pattern}: {known} {full}");
            assert!((0.95..1.02).contains(&(own / full)), "{numerology}{pattern}: {own} {full}");
        }
    }

    /// Backlogged UEs share the capacity that the other UEs leave.
    #[test]
    fn shares_are_max_min_fair() {
        let share = Share { greedy: 3, modest: 2, taken: 10.0 };
        assert_eq!(share.part(100.0, true), 30.0);
        assert_eq!(share.part(100.0, false), 22.5);
        // The share is at least an equal share among all UEs.
        assert_eq!(Share { taken: 80.0, ..share }.part(100.0, true), 20.0);
        assert_eq!(Share::default().part(100.0, false), 100.0);
    }

    #[test]
    fn links_are_not_tracked_without_an_oracle() {
        let toml =
            "preset = \"airwnd-0.1\"\nduration = \"1s\"\n[[site]]\n[[ue]]\n[[flow]]\nrwnd = \"drwa\"\n";
        let scenario = scenario(toml, "");
        let simulation =
            Simulation::new((&scenario).into(), 1, &Records::default(), None, Vec::new()).unwrap();
        assert!(simulation.devices.links.is_none());
    }
}
