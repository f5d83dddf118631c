//! Cost of receive-window controls.

use airwnd_catalog::{Node, Param};
use airwnd_rwnd::{self as rwnd, Device, DeviceLink};
use airwnd_tcp::{Endpoint, EndpointSetup, Segment, Seq, Stack, cc};
use airwnd_units::{BitRate, Bytes, Span, Time};
use cpu_time::ProcessTime;
use std::hint::black_box;
use std::sync::Arc;

/// Data segments per run.
const SEGMENTS: usize = 200_000;
const RUNS: usize = 9;

/// Prints a table of all controls for the same download: a segment every 100 us, and ACKs delayed by 20 to 50 ms.
pub fn table() {
    println!("\n{:<24} {:>12} {:>12}", "receive window", "ns/segment", "above fixed");
    let costs: Vec<(String, f64)> =
        rwnd::Spec::built_in().into_iter().map(|kind| (kind.clone(), cost(&kind))).collect();
    let plain = costs.iter().find(|(kind, _)| kind == "fixed").map_or(0.0, |(_, cost)| *cost);
    for (kind, cost) in costs {
        println!("{kind:<24} {cost:>12.1} {:>12.1}", cost - plain);
    }
}

/// Creates the ends of a connection: receiver and sender.
fn ends(kind: &str) -> (Endpoint, Endpoint) {
    let read = |word: &str| Node::from_json(&format!("\"{word}\""), "bench").unwrap();
    let config = Arc::new(airwnd_tcp::Config {
        mss: 1000,
        send_buffer: Bytes(1 << 24),
        receive_buffer: Bytes(1 << 20),
        ..Stack::Linux.config()
    });
    let (plain, control) =
        (rwnd::Spec::read(&read("fixed")).unwrap(), rwnd::Spec::read(&read(kind)).unwrap());
    let cc = cc::Spec::read(&read("newreno")).unwrap();
    let end = |rwnd, peer_rwnd| {
        Endpoint::new(&EndpointSetup {
            config: &config,
            cc: &cc,
            rwnd,
            peer_rwnd,
            iss: Seq(0),
            seed: 1,
            identity: Default::default(),
        })
    };
    let (mut receiver, mut sender) = (end(&control, &plain), end(&plain, &control));
    receiver.read_at_once(true);
    receiver.listen();
    sender.connect();
    sender.write_endlessly();
    (receiver, sender)
}

/// Passes a segment to the receiver, and its replies to `answer`.
fn receive(receiver: &mut Endpoint, now: Time, segment: &Segment, mut answer: impl FnMut(Segment)) {
    if receiver.next_timeout().is_some_and(|due| due <= now) {
        receiver.on_timeout(now);
    }
    let link = Some(DeviceLink { rate: BitRate(20_000_000), base_rtt: Span::from_millis(20) });
    let received = receiver.bytes_received();
    let (min_received, max_received) = (received, received + Bytes(1_000_000));
    let received = min_received + max_received;
    receiver.set_device(Device {
        connections: 2,
        min_received,
        max_received,
        received,
        link,
        ..Device::default()
    });
    receiver.on_segment(now, segment);
    while let Some(segment) = receiver.poll_transmit(now) {
        answer(segment);
    }
}

/// Returns the segments received with this control, and their arrival times.
fn download(kind: &str) -> Vec<(Time, Segment)> {
    let (mut receiver, mut sender) = ends(kind);
    let mut came = Vec::with_capacity(SEGMENTS + 1000);
    let (mut now, mut acks) = (Time::ZERO, Vec::new());
    for round in 0.. {
        if sender.next_timeout().is_some_and(|due| due <= now) {
            sender.on_timeout(now);
        }
        while let Some(segment) = sender.poll_transmit(now) {
            came.push((now + Span::from_micros(100), segment));
            now += Span::from_micros(100);
            receive(&mut receiver, now, &segment, |ack| acks.push(ack));
        }
        if came.len() >= SEGMENTS {
            break;
        }
        now += Span::from_millis(20 + round % 4 * 10);
        acks.drain(..).for_each(|ack| sender.on_segment(now, &ack));
    }
    came
}

/// Nanoseconds per segment, the minimum of several runs.
fn cost(kind: &str) -> f64 {
    let came = download(kind);
    let run = || {
        let (mut receiver, _) = ends(kind);
        let start = ProcessTime::now();
        for (now, segment) in &came {
            receive(&mut receiver, *now, segment, |ack| {
                black_box(ack);
            });
        }
        start.elapsed().as_secs_f64() * 1e9 / came.len() as f64
    };
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}
