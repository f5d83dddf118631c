//! A UE's MAC and RLC without a cell: packets in, signals, blocks and reports out.

use super::mac::BlockGrant;
use super::*;
use crate::mac::control_elements::{Elements, Headroom};
use crate::mac::{Content, power_control};
use crate::qci::Qci;
use crate::settings::{BearerSetup, BufferReports, CellSite, RanSetup, UeSite};
use airwnd_kernel::{Codepoint, Key};
use airwnd_phy::{Position, Prbs};
use airwnd_rlc::{RlcMode, Sdu};
use airwnd_units::{BitRate, Bytes, Span};
use proptest::prelude::*;

/// Slot of the UE.
const SLOT: UeSlot = UeSlot(3);

/// A UE with these bearers in unacknowledged mode.
fn table(change: impl Fn(&mut RanSetup), qcis: &[u8]) -> UeTable {
    let position = Position::new(100.0, 0.0, 1.5);
    let bearer = |qci: &u8| BearerSetup::new(Bearer::new(Qci::new(*qci).unwrap(), BitRate(0), BitRate(0)));
    let ue = UeSite { bearers: qcis.iter().map(bearer).collect(), ..UeSite::at(position) };
    let mut setup = RanSetup::new(vec![CellSite::at(Position::new(0.0, 0.0, 30.0))], vec![ue]);
    setup.rlc.mode = RlcMode::Um;
    change(&mut setup);
    let carriers = setup.carriers().unwrap();
    let mut table = UeTable::new(&setup, &carriers[0].access, std::iter::once(UeId(0)));
    table.admit(UeId(0), Box::new(Ue::new(&setup, &carriers, UeId(0), CellId(0), SLOT)));
    table
}

fn enqueue(
    table: &mut UeTable,
    tti: u64,
    bearer: u8,
    direction: Direction,
    size: u64,
) -> Option<DownlinkReport> {
    let (packet, arrived) = (Key(tti as u32), Tti(tti).start());
    let sdu = Sdu { packet, size: Bytes(size), arrived, flow: 0, ecn: Codepoint::NotEct };
    table.enqueue(sdu, LegId { ue: UeId(0), bearer, direction }, &mut EventLog::new())
}

/// The TTIs of a range in which the UE sends scheduling requests.
fn requests(table: &mut UeTable, ttis: std::ops::Range<u64>) -> Vec<u64> {
    let mut signals = Vec::new();
    let mut sends = |tti: &u64| {
        signals.clear();
        table.signal(Tti(*tti), &mut signals);
        assert!(signals.iter().all(|signal| (signal.cell, signal.slot) == (CellId(0), SLOT)));
        signals.iter().any(|signal| matches!(signal.content, SignalContent::Request))
    };
    ttis.filter(|tti| sends(tti)).collect()
}

/// Fills a grant of this size.
fn fill(table: &mut UeTable, tti: u64, size: u64) -> Option<(Option<Content>, Elements)> {
    let control = power_control::Params::default();
    let power = Headroom { control: &control, prbs: Prbs(3), loss: Db(90.0) };
    table.transmit_up(UeId(0), &BlockGrant { tti: Tti(tti), size: Bytes(size), process: 0, power })
}

/// The buffer status report in the block of a grant.
fn report(table: &mut UeTable, tti: u64, size: u64) -> Option<u64> {
    fill(table, tti, size).unwrap().1.buffer.map(|waiting| waiting.0)
}

/// A UE of slot 3 has an opportunity every 10 ms, and sr-ProhibitTimer skips some.
#[test]
fn a_request_is_repeated_at_each_opportunity_until_a_grant() {
    let mut ue = table(|_| (), &[9]);
    assert_eq!(requests(&mut ue, 0..20), [0; 0], "without data");
    enqueue(&mut ue, 20, 0, Direction::Up, 100);
    assert_eq!(requests(&mut ue, 20..50), [23, 33, 43]);
    let prohibit = |setup: &mut RanSetup| setup.mac.sr_prohibit_timer = Some(Span::from_millis(15));
    let mut ue = table(prohibit, &[9]);
    enqueue(&mut ue, 20, 0, Direction::Up, 100);
    assert_eq!(requests(&mut ue, 20..70), [23, 43, 63]);
    // The block of a grant reports the backlog: nothing is left to request.
    assert_eq!(report(&mut ue, 70, 500), Some(0));
    assert_eq!(requests(&mut ue, 70..120), [0; 0]);
}

/// 300 B wait: 100 B of payload and the UE's report fit into the first block, and the report counts the rest.
#[test]
fn a_block_reports_the_backlog_when_a_report_is_due() {
    let mut ue = table(|_| (), &[9]);
    enqueue(&mut ue, 0, 0, Direction::Up, 300);
    requests(&mut ue, 0..5);
    let left = report(&mut ue, 5, 104).unwrap();
    assert!((195..=215).contains(&left), "300 B - (104 B - report - headers): {left}");
    // periodicBSR-Timer is 5 ms: the next block 1 ms later has none.
    assert_eq!(report(&mut ue, 6, 50), None);
    assert!(report(&mut ue, 10, 50).is_some());
}

#[test]
fn a_grant_without_data_is_unused() {
    let mut ue = table(|_| (), &[9]);
    assert!(fill(&mut ue, 5, 100).is_none());
}

/// Data of QCI 9 waits and has been reported. That of QCI 1 triggers a request, that of a third bearer with QCI 8 does not.
#[test]
fn data_of_a_higher_priority_triggers_a_request() {
    for (bearer, requested) in [(1, true), (2, false)] {
        let mut ue = table(|_| (), &[7, 1, 8]);
        enqueue(&mut ue, 0, 0, Direction::Up, 5000);
        requests(&mut ue, 0..5);
        assert!(report(&mut ue, 5, 100).is_some());
        assert_eq!(requests(&mut ue, 5..30), [0; 0], "reported");
        enqueue(&mut ue, 30, bearer, Direction::Up, 100);
        assert_eq!(!requests(&mut ue, 30..60).is_empty(), requested, "bearer {bearer}");
    }
}

#[test]
fn a_request_is_repeated_when_retx_bsr_timer_expires() {
    let mut ue = table(|setup| setup.mac.retx_bsr_timer = Some(Span::from_millis(40)), &[9]);
    enqueue(&mut ue, 0, 0, Direction::Up, 5000);
    requests(&mut ue, 0..5);
    report(&mut ue, 5, 100);
    // The cell has forgotten the report: 40 ms later the UE requests again, at its next opportunity.
    assert_eq!(requests(&mut ue, 5..60), [53]);
}

#[test]
fn ideal_reports_are_sent_at_once() {
    let mut ue = table(|setup| setup.mac.quirks.buffer_reports = BufferReports::Ideal, &[9]);
    enqueue(&mut ue, 0, 0, Direction::Up, 300);
    let mut signals = Vec::new();
    ue.signal(Tti(1), &mut signals);
    let contents: Vec<_> = signals.iter().map(|signal| &signal.content).collect();
    assert!(matches!(contents[..], [SignalContent::Report(waiting)] if waiting.0 >= 300));
}

/// 100 B wait. 5G-LENA's report has 5 B and the data's subheader 3 B; a report of data counts both.
#[test]
fn blocks_of_5g_lena_always_report() {
    let mut ue = table(|setup| setup.mac.quirks.buffer_reports = BufferReports::Lena, &[9]);
    enqueue(&mut ue, 0, 0, Direction::Up, 98);
    let waiting = ue.get(UeId(0)).reported(Tti(0).start(), Direction::Up).total().0;
    requests(&mut ue, 0..5);
    assert_eq!(report(&mut ue, 5, 58), Some(waiting - 50 + 8));
    assert_eq!(report(&mut ue, 6, 500), Some(0));
}

/// An uplink packet is reported to the UE's MAC, a downlink packet to the eNB's, which repeats the report of RLC every
/// 10 ms after a block has left some.
#[test]
fn rlc_at_the_enb_reports_arrivals_and_repeats_what_is_left() {
    let mut ue = table(|_| (), &[9]);
    assert!(enqueue(&mut ue, 0, 0, Direction::Up, 100).is_none());
    let waiting = enqueue(&mut ue, 0, 0, Direction::Down, 1000).unwrap().waiting;
    assert!((1000..1010).contains(&waiting.total().0), "{waiting:?}");
    assert!(MacSide::new(&mut ue, &[UeId(0)]).transmit_down(UeSlot(0), Tti(2), Bytes(400), 0).is_some());
    let mut repeated = |tti| {
        let mut reports = Vec::new();
        ue.repeat_rlc_reports(Tti(tti), |report| reports.push(report));
        reports.iter().map(|report| (report.slot, report.waiting.total().0)).collect::<Vec<_>>()
    };
    assert!((3..12).all(|tti| repeated(tti).is_empty()));
    let [(SLOT, left)] = repeated(12)[..] else { panic!("a report is due") };
    assert!((600..620).contains(&left), "{left}");
}

/// A block of two bearers reaches both, in either direction.
#[test]
fn a_shared_block_is_taken_apart_at_the_other_end() {
    let mut ue = table(|_| (), &[9, 1]);
    for direction in Direction::BOTH {
        for bearer in 0..2 {
            enqueue(&mut ue, u64::from(bearer), bearer, direction, 100);
        }
        let content = ue.fill(UeId(0), direction, Tti(2), Bytes(400), 0, None);
        assert_eq!(content, Some(Content::Several(0)));
        ue.receive(Tti(3).start(), UeId(0), direction, content.unwrap());
        let mut arrived: Vec<_> =
            ue.arrivals.drain(..).map(|arrival| (arrival.direction, arrival.packet.0)).collect();
        arrived.sort_unstable_by_key(|(_, packet)| *packet);
        assert_eq!(arrived, [(direction, 0), (direction, 1)]);
    }
}

/// A UE that leaves its cell forgets its request; in another table its timers go on.
#[test]
fn a_ue_takes_its_timers_to_another_table() {
    let mut one = table(|_| (), &[9]);
    let mut other = table(|_| (), &[9]);
    other.release(UeId(0));
    enqueue(&mut one, 0, 0, Direction::Down, 1000);
    MacSide::new(&mut one, &[UeId(0)]).transmit_down(UeSlot(0), Tti(2), Bytes(400), 0);
    assert!(!one.is_idle());
    let ue = one.release(UeId(0));
    assert!(one.is_idle() && other.is_idle());
    other.admit(UeId(0), ue);
    let mut reports = Vec::new();
    other.repeat_rlc_reports(Tti(12), |report| reports.push(report));
    assert_eq!(reports.len(), 1);
    enqueue(&mut other, 12, 0, Direction::Up, 100);
    requests(&mut other, 12..14);
    other.leave(Tti(14).start(), UeId(0));
    assert_eq!(requests(&mut other, 14..60), [0; 0]);
}

proptest! {
    /// Whatever the sizes of packets and grants, a report is never below what RLC still holds, and ends at zero.
    #[test]
    fn reports_never_understate_the_backlog(
        packets in prop::collection::vec(40u64..2000, 1..20),
        grants in prop::collection::vec(12u64..3000, 60),
    ) {
        let mut ue = table(|_| (), &[9]);
        for size in &packets {
            enqueue(&mut ue, 0, 0, Direction::Up, *size);
        }
        requests(&mut ue, 0..5);
        let mut last = None;
        for (tti, size) in (5..).zip(grants.into_iter().chain([40_000; 2])) {
            let Some((_, elements)) = fill(&mut ue, tti, size) else { continue };
            let held = ue.get(UeId(0)).reported(Tti(tti).start(), Direction::Up).total();
            if let Some(waiting) = elements.buffer {
                prop_assert!(waiting >= held, "{waiting:?} {held:?}");
            }
            last = elements.buffer.or(last);
        }
        prop_assert_eq!(last, Some(Bytes::ZERO));
    }
}
