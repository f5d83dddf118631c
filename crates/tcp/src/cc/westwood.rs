//! Westwood: ssthresh from the estimated bandwidth.

pub use super::newreno::Growth;
use super::parts::bandwidth::Bandwidth;
pub use super::parts::bandwidth::{Filter, Variant};
use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_units::Span;

/// Westwood: NewReno's growth; a loss sets ssthresh to the estimated bandwidth times RTTmin.
///
/// At a congestion event, with B the bandwidth estimated from ACKs,
///
/// ```math
/// \mathrm{ssthresh} = \max(B \, \mathit{RTT}_{\min}, \, 2 \, \mathrm{MSS})
/// ```
///
/// and `cwnd = min(cwnd, ssthresh)`. After a timeout cwnd is one segment. B filters samples b over intervals D. With
/// `filter = "tustin"`
///
/// ```math
/// B \leftarrow a \, B + (1 - a) \, \frac{b + b'}{2}
/// ```
///
/// where b' is the previous sample. With `variant = "westwood"` the interval D lies between two ACKs and
/// `a = (2 tau - D) / (2 tau + D)`; a pause longer than tau / 2 is filled with samples of zero. With "westwood-plus" D
/// is one RTT and `a = 0.9`. With "ns3.26" b is the bytes of one ACK over the smoothed RTT, and `a = 0.9`. With "ns3.44"
/// D is the smoothed RTT from an ACK on, which counts, and `a = 0.9`. With `filter = "linux"`, `x <- (7 x + b) / 8` and
/// `B <- (7 B + x) / 8`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Mascolo, Casetti, Gerla, Sanadidi, Wang: TCP Westwood: Bandwidth Estimation for Enhanced \
              Transport over Wireless Links, MobiCom 2001; Grieco, Mascolo: Performance Evaluation and \
              Comparison of Westwood+, New Reno, and Vegas TCP Congestion Control, CCR 34(2), 2004"
)]
pub struct Params {
    /// Definition of a bandwidth sample.
    #[param(basic, default = Variant::WestwoodPlus)]
    #[param(
        unit = "word",
        source = "Mascolo et al. 2001, section 2 (westwood); Grieco and Mascolo 2004, \
                  section 2 (westwood-plus); ns-3.26 TcpWestwood (ns3.26); \
                  ns-3.44 TcpWestwoodPlus (ns3.44)"
    )]
    pub variant: Variant,
    /// Filter of the bandwidth samples.
    #[param(default = Filter::Tustin)]
    #[param(
        unit = "word",
        source = "Mascolo et al. 2001, section 2.2; Linux tcp_westwood (linux); ns-3.44 \
                  TcpWestwoodPlus::FilterType"
    )]
    pub filter: Filter,
    /// Time constant of Tustin's filter (tau), with variant "westwood".
    #[param(default = Span::from_millis(500), range = Span::from_millis(1)..=Span::from_secs(60))]
    #[param(unit = "time", source = "Mascolo et al. 2001, section 2.2")]
    pub tau: Span,
    /// Minimum interval of a Westwood+ sample; 50 ms in Linux.
    #[param(expert, default = Span(0), range = Span(0)..=Span::from_secs(10))]
    #[param(
        unit = "time",
        source = "ns-3.44 TcpWestwoodPlus has none; Linux tcp_westwood TCP_WESTWOOD_RTT_MIN"
    )]
    pub min_interval: Span,
    /// Unit in which ACKs are counted for window growth.
    #[param(default = Growth::PerAck, unit = "word", source = "RFC 5681 §3.1 eq. 2 and 3")]
    pub growth: Growth,
}

/// State of Westwood.
#[derive(Clone, Debug)]
pub struct Westwood {
    params: Params,
    window: Window,
    bandwidth: Bandwidth,
    min_rtt: Option<Span>,
}

impl Westwood {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Westwood {
        let bandwidth = Bandwidth::new(params.variant, params.filter, params.tau, params.min_interval);
        Westwood { params, window: Window::new(ctx), bandwidth, min_rtt: None }
    }
}

impl CongestionControl for Westwood {
    fn on_delivery(&mut self, ack: &Ack) {
        self.min_rtt = ack.min_rtt;
        self.bandwidth.on_delivery(ack);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.window.grow_as_reno(ack.acked, self.params.growth);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.bandwidth.end_timed_sample(event.now);
        let product = self.bandwidth.bytes_within(self.min_rtt);
        self.window.reduce(event, self.window.count(product));
    }

    keeps_window!(window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::{Bytes, Time};

    fn at(us: u64, bytes: u64) -> Ack {
        let rtt = Some(Span::from_millis(100));
        Ack { now: Time(us * 1000), rtt, min_rtt: rtt, ..ack(bytes) }
    }

    fn in_a_second(westwood: &Westwood) -> f64 {
        westwood.bandwidth.bytes_within(Some(Span::from_secs(1))).0 as f64
    }

    /// 1000 B every ms are 1 MB/s, 100 kB per minimum RTT.
    fn bandwidth_after(seconds: u64, params: Params) -> f64 {
        let mut westwood = Westwood::new(params, &ctx(1000, 10));
        for ms in 0..=1000 * seconds {
            westwood.on_delivery(&at(1000 * ms, 1000));
        }
        in_a_second(&westwood)
    }

    #[test]
    fn every_filter_finds_a_constant_bandwidth() {
        for variant in [Variant::Westwood, Variant::WestwoodPlus] {
            for filter in [Filter::Tustin, Filter::Linux, Filter::None] {
                let found = bandwidth_after(30, Params { variant, filter, ..Params::default() });
                assert!((found / 1e6 - 1.0).abs() < 1e-5, "{variant:?} {filter:?}: {found} B/s");
            }
        }
    }

    #[test]
    fn a_loss_sets_cwnd_to_the_bandwidth_delay_product() {
        let mut westwood = Westwood::new(Params::default(), &ctx(1000, 150));
        for ms in 0..=30_000 {
            westwood.on_delivery(&at(1000 * ms, 1000));
        }
        westwood.on_congestion(&congestion(Signal::Loss, 150_000));
        // 1 MB/s x 0.1 s
        assert_eq!(westwood.cwnd().0.div_ceil(10), 10_000);
        westwood.on_congestion(&congestion(Signal::Timeout, 100_000));
        assert_eq!((westwood.cwnd(), westwood.ssthresh().0.div_ceil(10)), (Bytes(1000), 10_000));
    }

    #[test]
    fn tustins_filter_with_two_westwood_plus_samples() {
        let mut westwood = Westwood::new(Params::default(), &ctx(1000, 10));
        westwood.on_delivery(&at(0, 1000));
        westwood.on_delivery(&at(100_000, 100_000));
        // 0.1 (1 MB/s + 0) / 2
        assert!((in_a_second(&westwood) - 50_000.0).abs() < 2.0);
        westwood.on_delivery(&at(200_000, 100_000));
        // 0.9 x 50 kB/s + 0.1 x 1 MB/s
        assert!((in_a_second(&westwood) - 145_000.0).abs() < 2.0);
    }

    /// 100 ACKs per RTT of 100 ms: each sample is a hundredth of the 1 MB/s.
    #[test]
    fn a_sample_of_ns3_is_one_ack_per_round_trip_time() {
        let params = Params { variant: Variant::Ns3v26, ..Params::default() };
        let mut westwood = Westwood::new(params, &ctx(1000, 150));
        for ms in 0..=1000 {
            westwood.on_delivery(&Ack { srtt: Some(Span::from_millis(100)), ..at(1000 * ms, 1000) });
        }
        assert!((in_a_second(&westwood) - 10_000.0).abs() < 2.0);
        // 10 kB/s x 0.1 s is one segment: the threshold is at its minimum.
        westwood.on_congestion(&congestion(Signal::Loss, 150_000));
        assert_eq!(westwood.cwnd(), Bytes(2000));
    }

    /// Samples of 100 ms begin at 0 and at 250 ms, with the ACK that begins them: 2 and 1 kB over 100 ms. The 150 ms
    /// without an ACK, and a timeout later, belong to none.
    #[test]
    fn a_timed_sample_counts_its_first_ack_and_no_pause() {
        let params = Params { variant: Variant::Ns3v44, ..Params::default() };
        let mut westwood = Westwood::new(params, &ctx(1000, 150));
        for ms in [0, 50, 250] {
            westwood.on_delivery(&Ack { srtt: Some(Span::from_millis(100)), ..at(1000 * ms, 1000) });
        }
        // 0.1 (20 kB/s + 0) / 2
        assert!((in_a_second(&westwood) - 1000.0).abs() < 2.0);
        westwood.on_congestion(&Congestion { now: Time(349_000_000), ..congestion(Signal::Loss, 150_000) });
        assert!((in_a_second(&westwood) - 1000.0).abs() < 2.0);
        westwood.on_congestion(&Congestion { now: Time(1_250_000_000), ..congestion(Signal::Timeout, 2000) });
        // 0.9 x 1 kB/s + 0.1 (10 kB/s + 20 kB/s) / 2
        assert!((in_a_second(&westwood) - 2400.0).abs() < 2.0);
    }

    #[test]
    fn a_pause_is_filled_with_zeros() {
        let params = Params { variant: Variant::Westwood, ..Params::default() };
        let mut westwood = Westwood::new(params, &ctx(1000, 10));
        for ms in 0..=30_000 {
            westwood.on_delivery(&at(1000 * ms, 1000));
        }
        // 2.5 s are nine zeros at intervals of 250 ms, each keeping 0.6, half of the last sample in the first, and 250
        // ms more
        westwood.on_delivery(&at(32_500_000, 0));
        let expected = 1e6 * (0.6 + 0.4 / 2.0) * 0.6_f64.powi(9);
        let found = in_a_second(&westwood);
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    }
}
