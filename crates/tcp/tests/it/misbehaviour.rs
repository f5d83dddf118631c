//! Receivers that divide ACKs, repeat them, or acknowledge data before it arrives (Savage et al., ACM CCR 29(5), 1999),
//! and what senders make of it.

use crate::support::script::{IRS, ISS, Script, segments};
use crate::support::{Link, Net, plain_window};
use airwnd_catalog::outside::{Failures, Registry};
use airwnd_catalog::{Node, Param, Params};
use airwnd_tcp::cc::{self, Ack, Congestion, CongestionControl, SenderContext};
use airwnd_tcp::{Config, Segment, Stack, State};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

fn config() -> Config {
    Config { mss: 1000, quick_acks: 0, ..Stack::Linux.config() }
}

fn established(config: &Config) -> Script {
    let mut script = Script::new(config);
    script.connect(None);
    script.sent();
    script
}

mod receiver {
    use super::*;

    #[test]
    fn divides_the_ack_of_each_segment_into_equal_parts() {
        let mut script = established(&Config { ack_division: 4, ..config() });
        script.data(0, 1000).expect_acks(&[250, 500, 750, 1000]);
        // Without SACKed data the parts of what fills a gap cover all of it.
        script.data(2000, 1000).expect_acks(&[1000]);
        script.data(1000, 1000).expect_acks(&[1500, 2000, 2500, 3000]);
        // No more parts than bytes.
        script.data(3000, 2).expect_acks(&[3001, 3002]);
        script.data(3002, 1).expect_acks(&[3003]);
    }

    #[test]
    fn the_parts_leave_the_edge_of_the_window_in_place() {
        let mut script = established(&Config { ack_division: 3, receive_buffer: Bytes(30_000), ..config() });
        let edge = |segment: &Segment| segment.ack + u32::from(segment.window);
        script.data(0, 1000);
        let sent = script.sent();
        assert_eq!(sent.len(), 3);
        assert!(sent.iter().all(|part| edge(part) == edge(&sent[2])), "{sent:?}");
    }

    #[test]
    fn data_of_its_own_carries_the_last_part() {
        let mut script = established(&Config { ack_division: 2, ..config() });
        script.end.write(Bytes(1000));
        script.data(0, 1000);
        let sent = script.sent();
        let numbers: Vec<_> = sent.iter().map(|segment| (segment.len, segment.ack - (IRS + 1))).collect();
        assert_eq!(numbers, [(0, 500), (1000, 1000)]);
    }

    #[test]
    fn spoofs_duplicates_of_the_ack_of_each_segment() {
        let mut script = established(&Config { spoofed_duplicate_acks: 3, ..config() });
        script.data(0, 1000).expect_acks(&[1000; 4]);
        script.data(2000, 1000);
        let sent = script.sent();
        assert_eq!(sent.len(), 4);
        assert!(sent.iter().all(|ack| ack.sack[0].end - ack.sack[0].start == 1000));
        script.at(1000).expect_acks(&[]);
    }

    #[test]
    fn acknowledges_ahead_of_the_data_by_as_much_as_has_arrived_up_to_the_maximum() {
        let mut script = established(&Config { optimistic_acks: Bytes(2500), ..config() });
        script.data(0, 1000).expect_acks(&[2000]);
        script.data(1000, 1000).expect_acks(&[4000]);
        script.data(2000, 1000).expect_acks(&[5500]);
        script.data(3000, 1000).expect_acks(&[6500]);
        assert_eq!(script.end.bytes_received(), Bytes(4000));
    }

    #[test]
    fn conceals_losses_and_does_not_count_what_is_lost() {
        let mut script = established(&Config { optimistic_acks: Bytes(1000), ..config() });
        script.data(0, 1000).expect_acks(&[2000]);
        script.data(3000, 1000);
        let sent = script.sent();
        assert_eq!((sent.len(), sent[0].ack - (IRS + 1)), (1, 5000));
        assert!(sent[0].sack[0].is_empty());
        assert_eq!((script.end.bytes_received(), script.end.bytes_arrived()), (Bytes(2000), Bytes(2000)));
        // Late data is refused, as data that has arrived is.
        script.data(1000, 1000).expect_acks(&[4000]);
        assert_eq!(script.end.bytes_received(), Bytes(2000));
    }

    #[test]
    fn gives_the_lead_up_when_the_sender_repeats_data() {
        let mut script = established(&Config { optimistic_acks: Bytes(2000), ..config() });
        script.data(0, 1000).data(1000, 1000).expect_acks(&[4000]);
        script.data(1000, 1000).expect_acks(&[2000]);
        script.data(2000, 1000).expect_acks(&[4000]);
    }

    #[test]
    fn does_not_acknowledge_beyond_the_fin() {
        let mut script = established(&Config { optimistic_acks: Bytes(2000), ..config() });
        script.data(0, 1000).expect_acks(&[2000]);
        // The last segment is lost, but not the FIN behind it.
        script.fin(2000).expect_acks(&[2001]);
        assert_eq!((script.end.state(), script.end.bytes_received()), (State::CloseWait, Bytes(1000)));
    }
}

mod sender {
    use super::*;

    #[test]
    fn ignores_the_ack_of_data_that_it_has_not_sent_and_answers_it() {
        let mut script = established(&config());
        script.end.write(Bytes(100_000));
        script.expect_data(&segments(0, 10));
        let before = script.end.cwnd();
        script.ack(10_001).expect_acks(&[0]);
        assert_eq!((script.end.cwnd(), script.end.outstanding()), (before, Bytes(10_000)));
        script.ack(10_000);
        assert_eq!(script.end.outstanding(), Bytes(0));
    }

    #[test]
    fn with_sack_a_duplicate_without_news_sends_nothing() {
        let mut script = established(&config());
        script.end.write(Bytes(100_000));
        script.expect_data(&segments(0, 10));
        let before = script.end.cwnd();
        for _ in 0..100 {
            script.ack(0).expect_data(&[]);
        }
        assert_eq!((script.end.cwnd(), script.end.stats().fast_retransmits), (before, 0));
    }

    /// As Linux's `tcp_limit_reno_sacked`: one segment is missing, so that others may have caused duplicates. The stacks of
    /// ns-2 and ns-3 have no limit.
    #[test]
    fn without_sack_no_more_is_presumed_delivered_than_is_outstanding() {
        for (presumes_beyond, expected) in [(false, 9), (true, 100)] {
            let mut config = Config { sack: false, initial_window: 10, ..config() };
            config.quirks.presumes_beyond = presumes_beyond;
            let delivered = Arc::new(AtomicU64::new(0));
            let mut plugins = Registry::<dyn CongestionControl>::default();
            let sum = delivered.clone();
            plugins.add("sums", move |_: &Counted, _: &SenderContext| Ok(Box::new(Sums(sum.clone()))));
            let spec = external("kind = \"plugin\"\nname = \"sums\"", &plugins);
            let mut script = Script::with(&config, spec, plain_window(), ISS, IRS);
            script.connect(None);
            script.sent();
            script.end.write(Bytes(10_000));
            assert_eq!(script.data_out(), segments(0, 10));
            (0..100).for_each(|_| drop(script.ack(0).data_out()));
            assert_eq!(delivered.load(Relaxed), expected * 1000);
        }
    }
}

/// Returns cwnd, and the ACKs, after some time without loss if the receiver acknowledges each segment in these parts.
fn grown(spec: &cc::Spec, parts: u32, initial_ssthresh: Option<Bytes>, ms: u64) -> (f64, u64) {
    let config = Config { ack_division: parts, delayed_ack_count: 1, initial_ssthresh, ..config() };
    let links = [(); 2].map(|()| Link::new(BitRate(100_000_000), Span::from_millis(20), 100_000));
    let mut net = Net::new(&config, spec, &plain_window(), links);
    net.open();
    net.ends[0].write_endlessly();
    net.run_until(Time(ms * 1_000_000));
    (net.ends[0].cwnd().0 as f64, net.sent[1])
}

/// Each congestion control takes the ACKs of all parts of a segment for one. The last part arrives 40 us later than an
/// undivided ACK does, which moves the windows of controls that measure delays by some percent.
#[test]
fn ack_division_enlarges_no_window() {
    let phases = [("slow start", None, 230), ("congestion avoidance", Some(Bytes(10_000)), 1000)];
    let mut enlarged = Vec::new();
    for name in cc::Spec::built_in() {
        let node = Node::from_json(&format!("\"{name}\""), "test").expect("it is JSON");
        let spec = cc::Spec::read(&node).expect("it is a congestion control");
        for (phase, initial_ssthresh, ms) in phases {
            let (whole, acks) = grown(&spec, 1, initial_ssthresh, ms);
            let (divided, parts) = grown(&spec, 10, initial_ssthresh, ms);
            assert!(parts > 5 * acks, "{name}, {phase}: {acks} ACKs, {parts} parts");
            if divided > 1.1 * whole + 1000.0 {
                enlarged.push(format!("{name}, {phase}: cwnd {whole}, divided {divided}"));
            }
        }
    }
    assert_eq!(enlarged, [""; 0]);
}

/// An external control that counts ACKs, and one that counts bytes.
#[derive(Debug)]
struct Counts {
    acks: bool,
    mss: f64,
    cwnd: f64,
}

impl CongestionControl for Counts {
    fn on_ack(&mut self, ack: &Ack) {
        let counted = if self.acks { self.mss } else { ack.acked.0 as f64 };
        self.cwnd += self.mss * counted / self.cwnd;
    }

    fn on_congestion(&mut self, _: &Congestion) {}

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd as u64)
    }

    fn ssthresh(&self) -> Bytes {
        self.cwnd()
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.0 as f64;
    }
}

/// A window of ten segments, and the sum of what ACKs report as delivered.
#[derive(Debug)]
struct Sums(Arc<AtomicU64>);

impl CongestionControl for Sums {
    fn on_delivery(&mut self, ack: &Ack) {
        self.0.fetch_add(ack.acked.0, Relaxed);
    }

    fn on_ack(&mut self, _: &Ack) {}

    fn on_congestion(&mut self, _: &Congestion) {}

    fn cwnd(&self) -> Bytes {
        Bytes(10_000)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes(10_000)
    }

    fn set_cwnd(&mut self, _: Bytes) {}
}

/// A congestion control of these plug-ins.
fn external(text: &str, plugins: &Registry<dyn CongestionControl>) -> cc::Spec {
    let node = Node::from_toml(text, "test").expect("it is TOML");
    let mut spec = cc::Spec::read(&node).expect("it is a congestion control");
    spec.link(&node, Path::new(""), plugins).expect("it is registered");
    spec.external().expect("it is a plug-in").attach(&Failures::default());
    spec
}

/// The unit in which acknowledged data counts.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "this test")]
struct Counted {
    /// ACKs instead of bytes.
    #[param(default = false, unit = "1", source = "this test")]
    acks: bool,
}

#[test]
fn ack_division_enlarges_the_window_of_an_external_control_that_counts_acks() {
    let mut plugins = Registry::<dyn CongestionControl>::default();
    plugins.add("counts", |params: &Counted, ctx: &SenderContext| {
        Ok(Box::new(Counts { acks: params.acks, mss: ctx.mss.0 as f64, cwnd: ctx.initial_window.0 as f64 }))
    });
    let gain = |acks: bool| {
        let spec = external(&format!("kind = \"plugin\"\nname = \"counts\"\nacks = {acks}"), &plugins);
        grown(&spec, 10, None, 1000).0 / grown(&spec, 1, None, 1000).0
    };
    assert!((0.99..1.01).contains(&gain(false)), "{}", gain(false));
    assert!(gain(true) > 2.0, "{}", gain(true));
}
