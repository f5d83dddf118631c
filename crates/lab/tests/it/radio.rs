//! Traces of the radio interface: they change nothing, do not depend on threads, and agree with the results.

use airwnd_catalog::Node;
use airwnd_lab::radio::{
    BlockOutcome, Control, DataPdu, DrxState, Layer, PduContent, PduRecord, Protocol, RadioEvent,
    RadioRecord, RlcMode, RrcCause, RrcEvent, SduEvent,
};
use airwnd_lab::tap::{Crossing, Node as Place, Passage, Sight, Tap};
use airwnd_lab::{Outcome, Records, Scenario, run_tapped};
use airwnd_units::{Bytes, Span, Time};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// Two sites of three sectors each; UEs move between them, blocks and assignments are lost.
const MOVING: &str = r#"
preset = "airwnd-0.1"
duration = "700ms"
warmup = "100ms"
radio.fading = {kind = "epa"}
radio.position_period = "20ms"
handover.algorithm = "a3-rsrp"
radio.amc = {kind = "piro-ew2010", ber = 0.01}

[[site]]
sectors = 3
antenna = {kind = "parabolic", beamwidth = "70deg"}
[[site]]
position = ["500m", "0m"]
sectors = 3
azimuth = "60deg"
antenna = {kind = "parabolic", beamwidth = "70deg"}

[[ue]]
count = 20
placement = {kind = "disc", radius = "500m"}
mobility = {kind = "random-waypoint", min_speed = "60m/s", max_speed = "90m/s", pause = "0s"}

[[flow]]
[[flow]]
id = "upload"
direction = "up"
"#;

const NR: &str = "carrier = {bandwidth = \"20MHz\", downlink_frequency = \"3.5GHz\"}\n\
                  radio.access = {kind = \"nr\", numerology = 1, pattern = \"DDDSU\", mimo = {}}\nradio.fading";
const CARRIERS: &str =
    "carrier.secondary = [{downlink_frequency = \"800MHz\", bandwidth = \"5MHz\"}]\nradio.fading";

/// DRX, release to RRC idle, and a dedicated bearer of the uploads.
const SLEEPING: &str = r#"
mac.drx = {inactivity = "10ms", cycle = "80ms", short_cycle = "20ms", short_cycles = 2, on_duration = "4ms"}
rrc = {inactivity = "100ms"}
rlc.queue = "codel"
"#;

/// The scenario in LTE and NR, in both modes of RLC, with two carriers, and with DRX, release and a dedicated bearer.
fn cases() -> [(&'static str, String); 6] {
    let with = |access: &str, mode: &str| {
        MOVING.replacen("radio.fading", access, 1).replacen(
            "radio.amc",
            &format!("rlc.mode = \"{mode}\"\nradio.amc"),
            1,
        )
    };
    [
        ("LTE, um", with("radio.fading", "um")),
        ("LTE, am", with("radio.fading", "am")),
        ("NR, um", with(NR, "um").replace("radio.amc = {kind = \"piro-ew2010\", ber = 0.01}", "")),
        ("NR, am", with(NR, "am").replace("radio.amc = {kind = \"piro-ew2010\", ber = 0.01}", "")),
        ("two carriers", with(CARRIERS, "um")),
        ("DRX, am", format!("{SLEEPING}{}", with("radio.fading", "am"))),
    ]
}

fn scenario(toml: &str) -> Scenario {
    Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap()
}

#[derive(Default)]
struct Seen(Vec<RadioRecord>);

impl Tap for Seen {
    fn packet(&mut self, _: &Sight) {}
    fn radio(&mut self, record: &RadioRecord) {
        self.0.push(record.clone());
    }
}

/// Per packet, by flow, direction and number: its parts in blocks, and whether it was received.
#[derive(Default)]
struct Parts(BTreeMap<(u32, bool, u16), (u32, bool)>);

impl Tap for Parts {
    fn packet(&mut self, sight: &Sight) {
        let is_up = sight.direction as u8 == 1;
        let end = if is_up { Place::Server } else { Place::Ue(sight.ue) };
        if sight.node == end && sight.crossing == Crossing::In {
            self.0.entry((sight.flow, is_up, sight.identification)).or_default().1 = true;
        }
    }

    fn in_block(&mut self, passage: &Passage, _: &PduRecord) {
        let key = (passage.flow, passage.direction as u8 == 1, passage.identification);
        let (parts, is_received) = self.0.entry(key).or_default();
        assert!(!*is_received, "a received packet has no new parts");
        *parts += 1;
    }
}

/// Every packet that crosses the air was in a block before.
#[test]
fn packets_have_parts_in_blocks() {
    for (name, toml) in cases() {
        let scenario = scenario(&toml);
        let radio = Some(scenario.radio_filter(&["rlc".into()], &[], None).unwrap());
        let mut parts = Parts::default();
        let records = Records { radio, ..Records::default() };
        run_tapped(&scenario, 1, &records, Some(&mut parts), &mut |_| true).unwrap();
        let received = parts.0.values().filter(|(_, is_received)| *is_received);
        let without = received.clone().filter(|(parts, _)| *parts == 0).count();
        // Blocks on air at the end of the warm-up.
        assert!(without < 200 && received.count() > 1000, "{name}: {without}");
    }
}

/// The results and the records that pass a filter of these layers and UEs.
fn traced(toml: &str, threads: usize, layers: &[&str], ues: &[&str]) -> (Outcome, Vec<RadioRecord>) {
    let scenario = scenario(toml);
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let radio = Some(scenario.radio_filter(&words(layers), &words(ues), None).unwrap());
    let records = Records { radio, threads: NonZeroUsize::new(threads), ..Records::default() };
    let mut seen = Seen::default();
    let outcome = run_tapped(&scenario, 1, &records, Some(&mut seen), &mut |_| true).unwrap();
    (outcome, seen.0)
}

#[test]
fn a_trace_changes_no_result_and_does_not_depend_on_threads() {
    for (name, toml) in cases() {
        let plain = run_tapped(&scenario(&toml), 1, &Records::default(), None, &mut |_| true).unwrap();
        let (outcome, records) = traced(&toml, 1, &[], &[]);
        assert_eq!(outcome.to_json(), plain.to_json(), "{name}");
        // The wake-up by a promotion is noted at the end of the promotion.
        let in_time = records.iter().filter(|record| !matches!(record.event, RadioEvent::Drx(_)));
        assert!(in_time.is_sorted_by_key(|record| record.at), "{name}");
        assert!(traced(&toml, 2, &[], &[]).1 == records, "{name}: two threads");
    }
}

fn pdus(records: &[RadioRecord]) -> impl Iterator<Item = (&RadioRecord, &PduRecord)> {
    records.iter().filter_map(|record| match &record.event {
        RadioEvent::Pdu(pdu) => Some((record, pdu)),
        _ => None,
    })
}

/// A HARQ process: UE, direction, carrier and number.
type ProcessOf = (u32, bool, u8, u8);

#[test]
fn each_grant_has_an_outcome_and_its_block_holds_the_pdus() {
    for (name, toml) in cases() {
        let (_, records) = traced(&toml, 1, &[], &[]);
        let mut room: BTreeMap<ProcessOf, u64> = BTreeMap::new();
        let (mut open, mut decoded, mut repeated) = (0i64, 0, 0);
        for record in &records {
            match &record.event {
                RadioEvent::Grant(grant) => {
                    assert!(grant.on_air >= record.at, "{name}");
                    open += 1;
                    repeated += u32::from(grant.transmission.number > 1);
                }
                RadioEvent::Block(block) => {
                    open -= 1;
                    let sent = block.transmission;
                    decoded += u64::from(block.outcome == BlockOutcome::Decoded) * sent.size.0;
                    let process = (record.ue.0, sent.direction as u8 == 1, sent.carrier.0, sent.process);
                    let filled = room.get(&process).copied().unwrap_or(0);
                    if sent.number == 1 {
                        assert!(filled <= sent.size.0, "{name}: {filled} in {sent:?}");
                        room.remove(&process);
                    }
                }
                RadioEvent::Pdu(pdu) => {
                    let process = (record.ue.0, pdu.direction as u8 == 1, pdu.carrier.0, pdu.process);
                    *room.entry(process).or_default() += pdu.pdu.size.0;
                }
                // The blocks on air are lost.
                RadioEvent::Rrc(_) => room.retain(|(ue, ..), _| *ue != record.ue.0),
                RadioEvent::Control(_) | RadioEvent::Drx(_) | RadioEvent::Sdu(_) => {}
            }
        }
        // A block on air at either end of the trace, or lost at a handover, has one record only.
        assert!(open.abs() < 200, "{name}: {open} grants without an outcome");
        assert!(repeated > 20, "{name}: {repeated} retransmissions");
        assert!(decoded > 100_000, "{name}: {decoded} bytes");
    }
}

/// Sequence numbers without gaps, whose pieces are those of the SDUs.
#[test]
fn pdus_follow_one_another() {
    for (name, toml) in cases() {
        let (_, records) = traced(&toml, 1, &["rlc"], &["ue-3", "ue-7"]);
        assert!(records.iter().all(|record| record.layer() == Layer::Rlc && [3, 7].contains(&record.ue.0)));
        let mut next: BTreeMap<(u32, bool), u64> = BTreeMap::new();
        let (mut statuses, mut again) = (0, 0);
        for (record, pdu) in pdus(&records) {
            let data = match &pdu.pdu.content {
                PduContent::Status { ack, nacks } => {
                    statuses += 1;
                    assert!(nacks.iter().all(|nack| nack.sn < *ack), "{name}");
                    continue;
                }
                PduContent::Data(data) => data,
            };
            let DataPdu { sn, whole, pieces, packets, is_segment, .. } = data;
            assert!(
                packets.len() <= if data.is_retransmission { 0 } else { pieces.len() },
                "{name}: {pdu:?}"
            );
            let format = pdu.pdu.format;
            assert!(pdu.pdu.size > data.data() && data.data() > Bytes::ZERO, "{name}: {pdu:?}");
            assert!(pieces.len() == 1 || format.protocol == Protocol::Lte, "{name}: {pdu:?}");
            assert!(!is_segment || format.protocol == Protocol::Nr || format.mode == RlcMode::Am);
            again += u32::from(data.is_retransmission);
            let Some(sn) = *sn else {
                assert_eq!(*whole, [true; 2], "{name}");
                continue;
            };
            if !data.is_retransmission {
                let next = next.entry((record.ue.0, pdu.direction as u8 == 1)).or_insert(sn);
                // A handover begins anew; segments of an SDU share its number in NR.
                assert!(
                    sn == *next || sn == 0 || format.protocol == Protocol::Nr && sn + 1 == *next,
                    "{name}: {sn} after {next}"
                );
                *next = sn + 1;
            }
        }
        assert_eq!(statuses > 0, name.ends_with("am"), "{name}");
        assert_eq!(again > 0, name.ends_with("am"), "{name}: {again}");
    }
}

#[test]
fn requests_reports_and_handovers_have_records() {
    let toml = MOVING.replace("700ms", "3s").replace("count = 20", "count = 10");
    let (outcome, records) = traced(&toml, 1, &["mac", "rrc"], &[]);
    let count =
        |wanted: &dyn Fn(&RadioEvent) -> bool| records.iter().filter(|record| wanted(&record.event)).count();
    let control = |wanted: fn(&Control) -> bool| {
        count(&|event| matches!(event, RadioEvent::Control(control) if wanted(&control.content)))
    };
    assert!(control(|content| *content == Control::Request) > 20);
    assert!(control(|content| matches!(content, Control::Buffer(waiting) if *waiting > Bytes::ZERO)) > 100);
    let ended = count(&|event| matches!(event, RadioEvent::Rrc(rrc) if rrc.event == RrcEvent::HandoverEnd));
    let all: u64 = outcome.ues().iter().map(|ue| ue.handovers).sum();
    assert!(ended > 0 && ended as u64 <= all, "{ended} of {all} handovers");
    for record in &records {
        if let RadioEvent::Rrc(rrc) = record.event
            && rrc.event == RrcEvent::HandoverStart
        {
            assert_eq!(rrc.cause, RrcCause::MeasurementReport);
            assert!(
                rrc.to.is_some_and(|to| to != record.cell) && rrc.rsrp.is_some() && rrc.to_rsrp.is_some()
            );
        }
    }
}

/// A packet arrives in a bearer before it leaves it, in one way, and at most one buffer of packets is inside at the end.
#[test]
fn sdus_leave_the_bearer_that_they_entered() {
    for (name, toml) in cases() {
        let (_, records) = traced(&toml, 1, &["pdcp"], &[]);
        let mut inside: BTreeMap<(u32, u32), (bool, u64)> = BTreeMap::new();
        let (mut delivered, mut dropped, mut unknown) = (0, 0, 0);
        for record in &records {
            let RadioEvent::Sdu(sdu) = record.event else { panic!("{name}: {record:?}") };
            // Records of one time are in the order of the regions, in which a number may be used again at once.
            let key = (record.ue.0, sdu.packet.0);
            let place = (sdu.direction as u8 == 1, sdu.size.0);
            if sdu.event == SduEvent::Arrived {
                assert_eq!(sdu.waited, Span::ZERO, "{name}");
                // A handover's forwarding takes a downlink packet out of the bearer; it may arrive once more.
                let before = inside.insert(key, place);
                assert!(before.is_none_or(|(is_up, _)| !is_up), "{name}: {record:?}");
                continue;
            }
            match inside.remove(&key) {
                Some(before) => assert_eq!(before, place, "{name}: {record:?}"),
                None => unknown += 1,
            }
            delivered += u32::from(sdu.event == SduEvent::Delivered);
            dropped += u32::from(sdu.event != SduEvent::Delivered);
        }
        // Packets inside at the end of the warm-up.
        assert!(unknown < 500, "{name}: {unknown}");
        assert!(delivered > 1000 && dropped > 0, "{name}: {delivered} and {dropped}");
    }
}

/// The times awake are those that the results count, and a UE that sleeps is not scheduled.
#[test]
fn drx_is_traced_as_it_is_counted() {
    let still = MOVING.replace("100ms", "0s").replace("700ms", "2s");
    let toml = format!("{SLEEPING}{still}");
    let (outcome, records) = traced(&toml, 1, &["mac"], &[]);
    let end = Time::ZERO + Span::from_millis(2000);
    let mut awake: BTreeMap<u32, (Option<Time>, Span)> = BTreeMap::new();
    let mut causes = [0; 5];
    for record in &records {
        let (since, sum) = awake.entry(record.ue.0).or_default();
        match record.event {
            RadioEvent::Drx(DrxState::Asleep) => *sum += record.at - since.take().expect("it was awake"),
            RadioEvent::Drx(state) => {
                causes[state as usize] += 1;
                assert_eq!(since.replace(record.at), None);
            }
            _ => {}
        }
    }
    for (number, ue) in outcome.ues().iter().enumerate() {
        let (since, sum) = awake[&(number as u32)];
        let sum = sum + since.map_or(Span::ZERO, |since| end - since);
        // The results count up to the end of the run, the trace up to the last TTIs that were decided.
        let counted = Span::from_secs_f64(2.0 * ue.awake);
        let late = counted.max(sum) - counted.min(sum);
        assert!(late <= Span::from_millis(2), "UE {number}: {sum:?}, {counted:?}");
    }
    assert!(causes[1..].iter().all(|count| *count > 0), "{causes:?}");
}

#[test]
fn a_window_limits_a_trace() {
    let scenario = scenario(MOVING);
    let window = Span::from_millis(200)..Span::from_millis(210);
    let radio = Some(scenario.radio_filter(&[], &[], Some(window)).unwrap());
    let mut seen = Seen::default();
    let records = Records { radio, ..Records::default() };
    run_tapped(&scenario, 1, &records, Some(&mut seen), &mut |_| true).unwrap();
    let ms = |ms| Time::ZERO + Span::from_millis(ms);
    // after the warm-up of 100 ms
    assert!(seen.0.iter().all(|record| (ms(300)..ms(310)).contains(&record.at)) && !seen.0.is_empty());
}

#[test]
fn wrong_filters_are_refused() {
    let refused = |toml: &str, layer: &str, ue: &str, window| {
        let words = |word: &str| if word.is_empty() { vec![] } else { vec![word.to_string()] };
        scenario(toml).radio_filter(&words(layer), &words(ue), window).unwrap_err().to_string()
    };
    let ms = |begin, end| Some(Span::from_millis(begin)..Span::from_millis(end));
    assert!(refused(MOVING, "nas", "", None).contains("no layer `nas`; layers: mac, rlc, pdcp, rrc"));
    assert!(refused(MOVING, "", "ue-20", None).contains("no UE `ue-20`; UEs: ue-0 to ue-19"));
    assert!(refused(MOVING, "", "enb-0", None).contains("no UE `enb-0`"));
    assert!(refused(MOVING, "", "", ms(20, 10)).contains("not before its end"));
    assert!(refused(MOVING, "", "", ms(700, 800)).contains("the run ends at 700ms"));
    let link = "duration = \"1s\"\n[[link]]\nrate = \"1Mbps\"\n[[ue]]\n[[flow]]";
    assert!(refused(link, "", "", None).contains("add a [[site]]"));
}
