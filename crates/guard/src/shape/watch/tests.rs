//! The program of the socket, run by the kernel with packets of our own. Nothing is attached.
//!
//! Without the privilege to load eBPF programs the message is checked instead.

use super::*;
use crate::forward::tests::pppoe_frame;
use aya::maps::HashMap;
use aya::programs::{TestRun as _, TestRunOptions};

/// Bytes of `struct key`, `struct flow`, `struct echo_key` and `struct echo`.
const KEY: usize = 36;
const FLOW: usize = 32;
const ECHO_KEY: usize = 16;
const ECHO: usize = 16;
const LOCAL: ([u8; 4], u16) = ([192, 0, 2, 1], 40_000);
const REMOTE: ([u8; 4], u16) = ([198, 51, 100, 1], 443);
const PROTOCOL: usize = 14 + 9;
const FLAGS: usize = 14 + 20 + 13;
const SYN: u8 = 2;

/// An incoming segment with timestamps and payload, in an Ethernet frame.
fn frame(ts_val: u32, ts_ecr: u32, payload: usize) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([8, 0, 0x45, 0]);
    frame.extend(((20 + 32 + payload) as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    frame.extend([REMOTE.0, LOCAL.0].concat());
    finish(frame, ts_val, ts_ecr, payload)
}

/// A frame over IPv6, from and to addresses that end with those of IPv4.
fn ipv6_frame(ts_val: u32, ts_ecr: u32, payload: usize) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
    frame.extend(((32 + payload) as u16).to_be_bytes());
    frame.extend([6, 64]);
    for end in [REMOTE.0, LOCAL.0] {
        frame.extend([0; 12]);
        frame.extend(end);
    }
    finish(frame, ts_val, ts_ecr, payload)
}

fn finish(mut frame: Vec<u8>, ts_val: u32, ts_ecr: u32, payload: usize) -> Vec<u8> {
    frame.extend([REMOTE.1, LOCAL.1].into_iter().flat_map(u16::to_be_bytes));
    frame.extend([0; 8]);
    frame.extend([0x80, 16, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10]);
    frame.extend([ts_val, ts_ecr].into_iter().flat_map(u32::to_be_bytes));
    frame.resize(frame.len() + payload, 0);
    frame
}

fn key() -> [u8; KEY] {
    let mut key = [0; KEY];
    key[12..16].copy_from_slice(&LOCAL.0);
    key[28..32].copy_from_slice(&REMOTE.0);
    key[32..34].copy_from_slice(&LOCAL.1.to_ne_bytes());
    key[34..36].copy_from_slice(&REMOTE.1.to_ne_bytes());
    key
}

#[test]
fn the_program_counts_packets_and_reports_segments_with_what_they_echo() {
    let mut ebpf = match Watch::load() {
        Ok(ebpf) => ebpf,
        Err(why) => {
            assert!(!why.to_string().contains('\n'), "{why}");
            return;
        }
    };
    let mut map = |name: &str| ebpf.take_map(name).unwrap();
    let totals: Array<MapData, [u64; 2]> = map("totals").try_into().unwrap();
    let mut interval: Array<MapData, u64> = map("interval").try_into().unwrap();
    let mut samples: RingBuf<MapData> = map("samples").try_into().unwrap();
    let mut flows: HashMap<MapData, [u8; KEY], [u8; FLOW]> = map("flows").try_into().unwrap();
    let mut echoes: HashMap<MapData, [u8; ECHO_KEY], [u8; ECHO]> = map("echoes").try_into().unwrap();
    // An hour: segments without an echo are reported once.
    interval.set(0, 3_600_000_000_000, 0).unwrap();
    let mut pass = |frame: &[u8]| {
        let mut out = vec![0; frame.len()];
        let options =
            TestRunOptions { data_in: Some(frame), data_out: Some(&mut out), ..TestRunOptions::new() };
        program(&mut ebpf).test_run(options).unwrap().return_value
    };
    let mut next = || samples.next().map(|sample| segment(&sample).unwrap());
    // A packet from the link begins no flow, and no packet is passed on.
    assert_eq!(pass(&frame(5, 100, 1000)), 0);
    assert_eq!((next(), totals.get(&0, 0).unwrap()), (None, [1052, 0]));
    let mut flow = [0; FLOW];
    flow[..8].copy_from_slice(&77_u64.to_ne_bytes());
    flows.insert(key(), flow, 0).unwrap();
    let echo_key: [u8; ECHO_KEY] = [77_u64.to_ne_bytes(), 100_u64.to_ne_bytes()].concat().try_into().unwrap();
    let echo: [u8; ECHO] = [9_u64.to_ne_bytes(), 5000_u64.to_ne_bytes()].concat().try_into().unwrap();
    echoes.insert(echo_key, echo, 0).unwrap();
    pass(&frame(6, 100, 1000));
    let first = next().unwrap();
    let echo = Echo { sent: Time(9), sent_bytes: Bytes(5000) };
    assert_eq!((first.flow, first.ts_val, first.received, first.echo), (77, 6, Bytes(2104), Some(echo)));
    // Its echo was the first, and the next report is not due.
    pass(&frame(7, 100, 0));
    assert_eq!((next(), totals.get(&0, 0).unwrap()), (None, [2156, 0]));
    // A handshake, and another protocol, have bytes only.
    for (place, value) in [(FLAGS, SYN), (PROTOCOL, 17)] {
        echoes.insert(echo_key, [9; ECHO], 0).unwrap();
        let mut other = frame(8, 100, 0);
        other[place] = value;
        pass(&other);
        assert_eq!(next(), None);
    }
    assert_eq!(totals.get(&0, 0).unwrap(), [2260, 0]);
    pass(&frame(8, 100, 0)[..40]);
    assert_eq!(next(), None);
    // The map is the same for both versions, and so is this key.
    echoes.insert(echo_key, [9; ECHO], 0).unwrap();
    pass(&ipv6_frame(9, 100, 10));
    let found = |seen: Option<Segment>| seen.map(|seen| (seen.flow, seen.ts_val, seen.echo.is_some()));
    assert_eq!(found(next()), Some((77, 9, true)));
    // Below the interface of PPP; other protocols of PPP have bytes only.
    for (frame, protocol, expected) in [
        (frame(10, 100, 10), 0x21, Some((77, 10, true))),
        (ipv6_frame(11, 100, 10), 0x57, Some((77, 11, true))),
        (frame(12, 100, 10), 0xc0, None),
        (frame(12, 100, 10), 0x57, None),
    ] {
        echoes.insert(echo_key, [9; ECHO], 0).unwrap();
        pass(&pppoe_frame(&frame, protocol));
        assert_eq!(found(next()), expected);
    }
}
