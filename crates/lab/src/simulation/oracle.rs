//! What an oracle knows of the link to a device.

use super::Simulation;
use super::devices::{Links, Share, Taken, UeState};
use airwnd_cell::{DOWNLINK_CROSSING, Ran, UeId};
use airwnd_kernel::Direction;
use airwnd_rwnd::DeviceLink;
use airwnd_units::{BitRate, Bytes, Span, Time, Tti};

/// How often is looked who shares what.
const LOOK: Span = Span::from_millis(10);
/// Weight of a new look in what flows take: a packet each 20 ms is a stream, not a burst.
const TAKEN_GAIN: f64 = 0.1;
/// Weight of a new look in what a cell carries to a UE: fading averages out over some 50 ms, as it does within a
/// round trip.
const CELL_GAIN: f64 = 0.2;
/// What stands for no limit.
const UNLIMITED: f64 = 1e12;
/// Bytes in a TTI as bits in a second.
const PER_SECOND: f64 = 8.0 * 1000.0;

impl Simulation<'_> {
    /// Makes room for what is known of links, if any receive-window control wants to know it.
    pub(super) fn know_links(&mut self) {
        let config = &self.config;
        if !self.scenario.flow.iter().any(|group| group.rwnd.capabilities().wants.link) {
            return;
        }
        // IPv4 and TCP, and timestamps with their padding (RFC 7323 appendix A).
        let headers = Bytes(if config.timestamps { 52 } else { 40 });
        let payload = Bytes(config.mss.into());
        let cells = self.network.ran().map_or(0, |ran| ran.cell_figures().count());
        self.devices.links = Some(Box::new(Links {
            segment: payload + headers,
            payload,
            ack: headers,
            acked: config.delayed_ack_count.into(),
            seen: None,
            of_links: vec![Share::default(); self.network.links().count()],
            of_cells: vec![Share::default(); cells],
            ues: vec![UeState::default(); self.network.devices()],
            flows: vec![Taken::default(); self.flows.len()],
        }));
    }

    /// What a device can know of the links to it: the payload of full segments that can come to it now, all its
    /// connections together, and the round trip through an empty network.
    ///
    /// The rate is the least on the way: of a wire its rate, of a recording what it carries to arrive in the next round
    /// trip (an oracle knows the future), of a cell what the UE's newest report gives over the whole carrier,
    /// each shared as by a fair scheduler.
    ///
    /// The round trip follows from the route: delays, the transmission of a full segment and of its ACK, and what an
    /// idle cell adds. What some flow has seen as its least would contain the queues of all of them.
    pub(super) fn link_to(&mut self, now: Time, ue: u32) -> DeviceLink {
        let mut links = self.devices.links.take().expect("made for who wants to know");
        if links.seen.is_none_or(|seen| now.since(seen) >= LOOK) {
            self.look(now, &mut links);
        }
        let state = &mut links.ues[ue as usize];
        let mut cell = None;
        if let Some(ran) = self.network.ran_mut() {
            state.whole_cell = state.whole_cell.or_else(|| ran.whole_cell(UeId(ue)));
            cell = Some(ran.cell_of(UeId(ue)).0);
        }
        let state = *state;
        let payload =
            |step: f64, around: Bytes| step * links.payload.0 as f64 / (links.segment + around).0 as f64;
        let mut rate: f64 = UNLIMITED;
        // From the end of a link to the device.
        let mut behind = Span::ZERO;
        if let Some(cell) = cell {
            let part = links.of_cells[usize::from(cell)].part(1.0, state.is_greedy);
            rate = payload(PER_SECOND * state.whole_cell.unwrap_or(0.0) * part, Bytes::ZERO);
            behind = DOWNLINK_CROSSING;
        }
        let wait = self.until_next_ack(now, ue, behind, &links);
        let base_rtt = wait + self.base_rtt(now + wait, ue, &links);
        for number in self.network.links_of(ue, Direction::Down).rev() {
            let link = self.network.link(number).down.link();
            behind += link.delay();
            let from = Time(now.0.saturating_sub(behind.0));
            if let Some(whole) = link.rate_between(from, from + base_rtt) {
                let part = links.of_links[number.0 as usize].part(whole.0 as f64, state.is_greedy);
                rate = rate.min(payload(part, link.framing()));
            }
        }
        self.devices.links = Some(links);
        DeviceLink { rate: BitRate(rate as u64), base_rtt }
    }

    /// Who shares what now.
    fn look(&mut self, now: Time, links: &mut Links) {
        let since = now.since(links.seen.unwrap_or(Time::ZERO)).max(Span::from_nanos(1));
        // What was seen long ago counts for nothing.
        let looks = if links.seen.is_some() { since.as_secs() / LOOK.as_secs() } else { f64::INFINITY };
        let gain = |of_one: f64| (of_one * looks).min(1.0);
        links.seen = Some(now);
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
                // What those who do not want more cost are blocks, padding and all.
                let granted = Bytes(ran.downlink_blocks(UeId(ue)).bytes_sum);
                let before = std::mem::replace(&mut state.granted, granted);
                let grants = (granted - before).0 as f64 * Tti::SPAN.as_secs() / since.as_secs();
                state.grants += gain(TAKEN_GAIN) * (grants - state.grants);
                let share = &mut links.of_cells[usize::from(cell)];
                if let Some(whole) = state.whole_cell.filter(|whole| modest > 0 && *whole > 0.0) {
                    share.taken += state.grants / whole;
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
            let whole = state.whole_cell.filter(|whole| state.is_greedy && *whole > 0.0);
            if let Some((ran, whole)) = self.network.ran().zip(whole) {
                let cell = ran.cell_of(UeId(flow.ue)).0;
                links.of_cells[usize::from(cell)].taken += taken.rate / (PER_SECOND * whole);
            }
        }
    }

    /// How long it is until the segments can have come that the device acknowledges next, where recordings say so.
    fn until_next_ack(&self, now: Time, ue: u32, mut behind: Span, links: &Links) -> Span {
        let mut wait = Span::ZERO;
        for number in self.network.links_of(ue, Direction::Down).rev() {
            let link = self.network.link(number).down.link();
            behind += link.delay();
            if link.rate().is_none() {
                let from = Time(now.0.saturating_sub(behind.0));
                wait = wait.max(link.crossing(from, links.segment * links.acked) - link.delay());
            }
        }
        wait
    }

    /// The round trip through an empty network that begins with an ACK from the UE now and ends with a full segment.
    fn base_rtt(&self, now: Time, ue: u32, links: &Links) -> Span {
        let ran = self.network.ran();
        let mut at = now + ran.map_or(Span::ZERO, Ran::uplink_crossing);
        for link in self.network.links_of(ue, Direction::Up) {
            at += self.network.link(link).up.link().crossing(at, links.ack);
        }
        for link in self.network.links_of(ue, Direction::Down) {
            at += self.network.link(link).down.link().crossing(at, links.segment);
        }
        let wires = at.since(now);
        if ran.is_none() {
            return wires;
        }
        // A UE gets its segments at the starts of TTIs, so the round trip takes whole ones.
        let whole = links.ues[ue as usize].whole_cell.unwrap_or(0.0);
        let blocks = if whole > 0.0 { libm::ceil(links.segment.0 as f64 / whole) as u64 } else { 1 };
        Span((wires.0.div_ceil(Tti::SPAN.0) + blocks - 1) * Tti::SPAN.0) + DOWNLINK_CROSSING
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Records, Scenario, run};
    use airwnd_catalog::Node;

    fn scenario(toml: &str) -> Scenario {
        Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap()
    }

    /// What is known of the first UE's link before anybody sends.
    fn known(toml: &str) -> DeviceLink {
        let scenario = scenario(toml);
        Simulation::new(&scenario, 1, &Records::default(), None).unwrap().link_to(Time::ZERO, 0)
    }

    /// A flow that sends a segment now and then sees the round trip of an empty network, over all that there is of routes.
    #[test]
    fn the_empty_round_trip_is_an_idle_users() {
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
        // A mean over phases is a single UE's wait if the period is one TTI.
        let often = "mac.request_period = \"1ms\"\n[[site]]\n";
        let ideal = "mac.buffer_reports = \"ideal\"\n[[site]]\n";
        for route in [wire, often, ideal, &format!("{far}{wire}"), &format!("{far}{often}{wire}"), narrow] {
            let toml = format!("{top}{route}{flow}");
            let outcome = run(&scenario(&toml), 1, None, &mut |_| true).unwrap();
            let seen = outcome.flows()[0].rtt_ms.p50.unwrap();
            let known = known(&toml).base_rtt.as_millis();
            assert!((seen - known).abs() <= 1.0, "{seen} ms seen, {known} ms known over\n{route}");
        }
        // Over a recording also the wait for an opportunity counts.
        let waits = known(&format!("{top}{rates}{flow}")).base_rtt;
        assert!(waits > Span::from_millis(20), "{waits}");
    }

    /// The least of the way counts, as payload: 1000 of 1054 bytes on a wire with timestamps and framing.
    #[test]
    fn the_rate_is_the_least_on_the_way() {
        let rest = "[[ue]]\nplacement = {kind = \"ring\", radius = \"400m\"}\n[[flow]]\nrwnd = \"oracle\"\n";
        let rate = |links: &str| {
            known(&format!("preset = \"airwnd-0.1\"\nduration = \"1s\"\ntcp.mss = 1000\n{links}{rest}"))
                .rate
                .0 as f64
                / 1e6
        };
        let wire = |mbps: u32| format!("[[link]]\nname = \"l{mbps}\"\nrate = \"{mbps}Mbps\"\n");
        assert!((rate(&wire(5)) - 5.0 * 1000.0 / 1054.0).abs() < 1e-3);
        assert!((rate(&(wire(5) + &wire(3) + &wire(9))) - 3.0 * 1000.0 / 1054.0).abs() < 1e-3);
        // MCS 28 over 50 PRBs, three in each of 16 whole groups and two beyond: a block of 4395 bytes in each TTI.
        let cell = rate("[[site]]\n");
        assert!((cell - 4395.0 * 8.0 / 1052.0).abs() < 1e-3, "{cell}");
        assert!(rate(&("[[site]]\n".to_string() + &wire(5))) < 5.0);
    }

    /// Those who want more share what those leave who do not.
    #[test]
    fn a_share_is_a_fair_one() {
        let share = Share { greedy: 3, modest: 2, taken: 10.0 };
        assert_eq!(share.part(100.0, true), 30.0);
        assert_eq!(share.part(100.0, false), 22.5);
        // However much comes otherwise, no less than an equal part among all.
        assert_eq!(Share { taken: 80.0, ..share }.part(100.0, true), 20.0);
        assert_eq!(Share::default().part(100.0, false), 100.0);
    }

    #[test]
    fn nobody_pays_for_what_nobody_wants_to_know() {
        let toml =
            "preset = \"airwnd-0.1\"\nduration = \"1s\"\n[[site]]\n[[ue]]\n[[flow]]\nrwnd = \"drwa\"\n";
        let scenario = scenario(toml);
        let simulation = Simulation::new(&scenario, 1, &Records::default(), None).unwrap();
        assert!(simulation.devices.links.is_none());
    }
}
