//! The 802.11 coordination function compared with analytical results.

use airwnd_kernel::{Direction, Stream};
use airwnd_links::link::Queue;
use airwnd_links::link::wifi::{Errors, Exit, Figures, Medium, Params, Passed, Phy};
use airwnd_links::loss::{self, Loss};
use airwnd_units::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

/// A medium and its clock.
struct Channel {
    medium: Medium<u32>,
    now: Time,
    passed: Vec<Passed<u32>>,
}

impl Channel {
    fn new(params: Params, stations: u32, seed: u64) -> Channel {
        Channel::with_errors(params, stations, seed, 0.0)
    }

    /// Creates a channel with errors on packets sent by the stations.
    fn with_errors(params: Params, stations: u32, seed: u64, rate: f64) -> Channel {
        let mut medium = Medium::new(params, Queue::default(), Stream::new(seed, "backoff"));
        for station in 0..stations {
            let stream = Stream::new(seed, "errors").child(u64::from(station));
            medium.join(losing(0.0, stream), losing(rate, stream));
        }
        Channel { medium, now: Time::ZERO, passed: Vec::new() }
    }

    /// Advances to the next event and returns the packets that leave the medium; `None`: no more events.
    fn step(&mut self) -> Option<&[Passed<u32>]> {
        self.now = self.medium.next_event()?;
        self.passed.clear();
        self.medium.advance(self.now, &mut self.passed);
        Some(&self.passed)
    }

    fn figures(&self) -> Figures {
        self.medium.figures(Direction::Up, self.now)
    }

    /// Returns the packets of each station that arrived in `time` while every station is backlogged.
    fn saturated(&mut self, stations: u32, packet: Bytes, time: Span) -> Vec<u64> {
        for station in (0..stations).cycle().take(2 * stations as usize) {
            self.medium.send(self.now, station, Direction::Up, packet, 0).unwrap();
        }
        let end = self.now + time;
        let mut arrived = vec![0; stations as usize];
        while self.now < end {
            self.step();
            for place in 0..self.passed.len() {
                let Passed { station, direction, exit, .. } = self.passed[place];
                arrived[station as usize] += u64::from(exit == Exit::Arrived);
                self.medium.send(self.now, station, direction, packet, 0).unwrap();
            }
        }
        arrived
    }
}

fn losing(rate: f64, stream: Stream) -> Box<dyn Loss> {
    loss::Spec::PacketError(loss::packet_error::Params { rate }).build(stream, Time::ZERO)
}

fn at_1_mbps() -> Params {
    Params { rate: Some(BitRate(1_000_000)), ..Params::default() }
}

const PACKET: Bytes = Bytes(1040);
const MINUTE: Span = Span::from_secs(60);

/// Microseconds of DIFS, mean countdown, frame, SIFS and ACK: for 1040 bytes at 1 Mbit/s 50 + 20 x 31 / 2 + (192 + 8 x
/// 1076) + 10 + (192 + 8 x 14) = 9474.
#[test]
fn a_single_station_has_the_expected_cycle() {
    let cycles = [
        (at_1_mbps(), 50.0 + 310.0 + 8800.0 + 10.0 + 304.0),
        // 8 x 1076 bit at 11 Mbit/s: 782.5 us, rounded up
        (Params::default(), 50.0 + 310.0 + (192.0 + 783.0) + 10.0 + 304.0),
        // 9 us slots, 15 of them; 216 bit per symbol: 40 symbols; ACK at 6 Mbit/s: 6 symbols
        (Params { phy: Phy::Ofdm, ..Params::default() }, 34.0 + 67.5 + (20.0 + 160.0) + 16.0 + 44.0),
        // RTS 192 + 160, CTS 304, two more SIFS
        (
            Params { rts_threshold: Some(Bytes(1000)), ..at_1_mbps() },
            50.0 + 310.0 + (352.0 + 10.0 + 304.0 + 10.0) + 8800.0 + 10.0 + 304.0,
        ),
    ];
    for (params, microseconds) in cycles {
        let arrived = Channel::new(params, 1, 1).saturated(1, PACKET, MINUTE)[0] as f64;
        let expected = 60e6 / microseconds;
        // The standard deviation of a countdown is 9.2 slots, so that of their sum is far below 1 %.
        assert!((arrived / expected - 1.0).abs() < 0.005, "{arrived} packets, {expected} expected");
    }
}

/// tau and p of Bianchi 2000, equations 7 and 9, for W = 32 and m = 5, by bisection over tau.
fn bianchi(stations: u32) -> (f64, f64) {
    let (w, m) = (32.0, 5);
    let p_of = |tau: f64| 1.0 - libm::pow(1.0 - tau, f64::from(stations - 1));
    let tau_of = |p: f64| {
        let doublings: f64 = (0..m).map(|i| libm::pow(2.0 * p, f64::from(i))).sum();
        2.0 / (1.0 + w + p * w * doublings)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let tau = (low + high) / 2.0;
        if tau_of(p_of(tau)) > tau { low = tau } else { high = tau }
    }
    (low, p_of(low))
}

/// Packets per second by Bianchi's equation 13, from the durations of an idle slot, a success and a collision; after a
/// collision the other stations wait for EIFS.
fn bianchi_rate(stations: u32, data: f64) -> f64 {
    let (tau, _) = bianchi(stations);
    let n = f64::from(stations);
    let transmission = 1.0 - libm::pow(1.0 - tau, n);
    let success = n * tau * libm::pow(1.0 - tau, n - 1.0);
    let (slot, after_success, after_collision) = (20.0, 10.0 + 304.0 + 50.0, 364.0);
    let mean = (1.0 - transmission) * slot
        + success * (data + after_success)
        + (transmission - success) * (data + after_collision);
    1e6 * success / mean
}

/// The model omits that only the station that has just sent may use the first slot, and that packets are dropped after
/// their retries.
#[test]
fn saturated_stations_follow_bianchi() {
    for (params, data) in [(at_1_mbps(), 8800.0), (Params::default(), 975.0)] {
        for stations in [2, 5, 10, 20] {
            let mut channel = Channel::new(params.clone(), stations, 1);
            let arrived = channel.saturated(stations, PACKET, MINUTE * 3);
            let rate = arrived.iter().sum::<u64>() as f64 / 180.0;
            let expected = bianchi_rate(stations, data);
            assert!((rate / expected - 1.0).abs() < 0.02, "{stations}: {rate}/s, {expected}/s expected");
            let figures = channel.figures();
            let collided = figures.collisions as f64 / figures.attempts as f64;
            let p = bianchi(stations).1;
            assert!((collided - p).abs() < 0.015, "{stations}: {collided} collide, {p} expected");
        }
    }
}

/// ns-3.44 (802.11b, ConstantRateWifiManager, no QoS, stations 1 m from the access point, saturating UDP with 1012
/// bytes of payload; 60 s, run 1): packets per second of all stations together. Its ACKs use the highest basic rate, 2
/// Mbit/s, if data uses 11. Its receivers do not treat a collision as a bad frame and wait for DIFS, not EIFS, so its
/// rate is higher by the 314 us of each collision: 1 collision per 2.5 packets among 20 stations.
#[test]
fn saturated_stations_follow_ns3() {
    let rows = [
        (1, 1, 105.467),
        (2, 1, 103.883),
        (5, 1, 98.2167),
        (10, 1, 92.45),
        (20, 1, 85.4167),
        (1, 11, 628.017),
        (2, 11, 667.167),
        (5, 11, 668.4),
        (10, 11, 645.467),
        (20, 11, 610.617),
    ];
    for (stations, mbps, ns3) in rows {
        let basic_rate = Some(BitRate(if mbps == 1 { 1_000_000 } else { 2_000_000 }));
        let params = Params { rate: Some(BitRate(mbps * 1_000_000)), basic_rate, ..Params::default() };
        let arrived = Channel::new(params, stations, 1).saturated(stations, PACKET, MINUTE * 2);
        let rate = arrived.iter().sum::<u64>() as f64 / 120.0;
        let allowed = if stations <= 2 { -0.005..0.005 } else { -0.055..0.0 };
        assert!(allowed.contains(&(rate / ns3 - 1.0)), "{stations} at {mbps} Mbit/s: {rate}/s, ns-3 {ns3}/s");
    }
}

/// Jain's index of equal stations.
#[test]
fn equal_stations_have_equal_shares() {
    for stations in [2, 5, 10] {
        let arrived = Channel::new(Params::default(), stations, 3).saturated(stations, PACKET, MINUTE * 3);
        let sum: f64 = arrived.iter().map(|count| *count as f64).sum();
        let squares: f64 = arrived.iter().map(|count| (*count as f64).powi(2)).sum();
        let jain = sum * sum / (f64::from(stations) * squares);
        assert!(jain > 0.999, "{stations}: {jain}, {arrived:?}");
    }
}

/// Returns the attempts per packet, and the share of packets dropped after their retries.
fn recovery(params: Params, rate: f64) -> (f64, f64) {
    let mut channel = Channel::with_errors(params, 1, 1, rate);
    channel.saturated(1, PACKET, MINUTE * 10);
    let figures = channel.figures();
    let packets = (figures.link.packets + figures.given_up) as f64;
    assert_eq!((figures.link.lost, figures.collisions), (0, 0));
    (figures.attempts as f64 / packets, figures.given_up as f64 / packets)
}

/// With at most n attempts a packet fails with e^n and takes (1 - e^n) / (1 - e) attempts.
#[test]
fn failed_frames_are_retransmitted() {
    let short = |short_retries| Params { short_retries, ..Params::default() };
    let long = Params { rts_threshold: Some(Bytes(500)), ..Params::default() };
    for (params, n, e) in [(short(7), 7, 0.5_f64), (short(3), 3, 0.2), (short(1), 1, 0.1), (long, 4, 0.5)] {
        let (attempts, given_up) = recovery(params, e);
        let fails = e.powi(n);
        // Some 200 000 packets: four standard deviations of the share are below 0.01 for a share of 0.5, and lower for
        // lower shares.
        assert!(
            (given_up - fails).abs() < 4.0 * (fails * (1.0 - fails) / 5e4).sqrt(),
            "{n}: {given_up} {fails}"
        );
        assert!((attempts / ((1.0 - fails) / (1.0 - e)) - 1.0).abs() < 0.02, "{n}: {attempts}");
    }
    assert!(recovery(short(7), 0.05).1 < 1e-4);
}

/// Residual losses: each packet is sent once and lost at the configured rate.
#[test]
fn packet_errors_are_not_recovered() {
    let params = Params { errors: Errors::Packets, ..Params::default() };
    let mut channel = Channel::with_errors(params, 1, 1, 0.05);
    channel.saturated(1, PACKET, MINUTE * 3);
    let figures = channel.figures();
    let packets = figures.link.packets + figures.link.lost;
    assert_eq!(figures.given_up, 0);
    assert!(figures.attempts - packets <= 1, "at most one frame is on the air");
    let share = figures.link.lost as f64 / packets as f64;
    assert!((share - 0.05).abs() < 4.0 * (0.05 * 0.95 / packets as f64).sqrt(), "{share}");
}

/// A collision of frames of 20 000 bytes takes 20 ms; of their RTS 0.35 ms.
#[test]
fn rts_shortens_collisions() {
    let carried = |rts_threshold| {
        let params = Params { rts_threshold, ..Params::default() };
        Channel::new(params, 10, 1).saturated(10, Bytes(20_000), MINUTE).iter().sum::<u64>()
    };
    assert!(carried(Some(Bytes(1000))) > carried(None) * 11 / 10);
}

proptest! {
    /// Each packet arrives, is lost, is dropped after its retries, or is still inside. Packets of one station and
    /// direction stay in order. Packets that arrive did not share the medium.
    #[test]
    fn packets_are_conserved_in_order_and_one_at_a_time(
        packets in prop::collection::vec((0u64..8_000_000, 0u32..4, prop::bool::ANY, 1u64..2000), 1..200),
        errors in 0.0..0.6,
        rts in prop::option::of(0u64..1500),
        limit in prop::option::of(1u64..6),
        recovered in prop::bool::ANY,
        seed in 0u64..1000,
    ) {
        let params = Params {
            rts_threshold: rts.map(Bytes),
            errors: if recovered { Errors::Attempts } else { Errors::Packets },
            short_retries: 2,
            long_retries: 2,
            ..Params::default()
        };
        let queue = Queue { packets: limit, ..Queue::default() };
        let mut medium = Medium::new(params, queue, Stream::new(seed, "backoff"));
        for station in 0..4 {
            let stream = Stream::new(seed, "errors").child(station);
            medium.join(losing(errors, stream.child(0)), losing(errors, stream.child(1)));
        }
        let mut now = Time::ZERO;
        let mut passed = Vec::new();
        let mut left: Vec<(Time, Passed<u32>)> = Vec::new();
        let (mut taken, mut refused) = (0u64, 0u64);
        for (number, (gap, station, up, size)) in packets.iter().enumerate() {
            now += Span(*gap);
            while let Some(at) = medium.next_event().filter(|at| *at <= now) {
                medium.advance(at, &mut passed);
                left.extend(passed.drain(..).map(|packet| (at, packet)));
            }
            let direction = if *up { Direction::Up } else { Direction::Down };
            match medium.send(now, *station, direction, Bytes(*size), number as u32) {
                Ok(_) => taken += 1,
                Err(_) => refused += 1,
            }
            prop_assert!(limit.is_none_or(|limit| medium.waiting(*station, direction) <= limit));
            prop_assert_eq!(taken, left.len() as u64 + medium.inside().count() as u64);
        }
        while let Some(at) = medium.next_event() {
            medium.advance(at, &mut passed);
            left.extend(passed.drain(..).map(|packet| (at, packet)));
        }
        prop_assert_eq!(taken, left.len() as u64);
        let sum = |count: fn(&Figures) -> u64| {
            count(&medium.figures(Direction::Down, now)) + count(&medium.figures(Direction::Up, now))
        };
        prop_assert_eq!(sum(|figures| figures.link.packets + figures.link.lost + figures.given_up), taken);
        prop_assert_eq!(sum(|figures| figures.link.refused), refused);
        for station in 0..4 {
            for direction in [Direction::Down, Direction::Up] {
                let numbers: Vec<u32> = left
                    .iter()
                    .filter(|(_, packet)| packet.station == station && packet.direction == direction)
                    .map(|(_, packet)| packet.item)
                    .collect();
                prop_assert!(numbers.is_sorted());
            }
        }
        // SIFS 10 us, ACK 304 us and DIFS 50 us are between the end of a frame and the start of the next one.
        let ends: Vec<(Time, u64)> = left
            .iter()
            .filter(|(_, packet)| packet.exit != Exit::GivenUp)
            .map(|(at, packet)| (*at, packets[packet.item as usize].3))
            .collect();
        for pair in ends.windows(2) {
            let frame = Span::from_micros(192) + BitRate(11_000_000).transmission_time(Bytes(pair[1].1 + 36));
            prop_assert!(pair[1].0 >= pair[0].0 + Span::from_micros(364) + frame);
        }
    }
}
