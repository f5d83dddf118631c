//! Hybrid slow start: leaves slow start before the buffer overflows.

use super::SlowStart;
use crate::cc::Ack;
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span, Time};

/// RTT samples of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Sampling {
    /// The RTT of each ACK, from the first ACK of the round on, as in Linux.
    #[word = "latest"]
    Latest,
    /// The smoothed RTT at each ACK, from the second ACK of the round on, compared with its own minimum since the
    /// connection began or the last loss, as in ns-3.
    #[word = "smoothed"]
    Smoothed,
}

/// HyStart: ends slow start when an ACK train or an increase of the RTT shows that the path is full.
///
/// ACKs at most `ack_gap` apart form a train. Slow start ends when a train lasts longer than `train` times the minimum
/// RTT: the bandwidth-delay product is then in flight.
///
/// Slow start also ends when the minimum of the first `samples` RTTs of a round shows that a queue has built up:
///
/// ```math
/// \mathit{RTT}_{\text{round}} > \mathit{RTT}_{\min}
/// + \min(\max(\eta \, \mathit{RTT}_{\min}, \, D_{\min}), \, D_{\max})
/// ```
///
/// with eta = `delay`, D_min = `delay_min` and D_max = `delay_max`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Ha, Rhee: Taming the elephants: New TCP slow start, Computer Networks 55(9), 2011")]
pub struct Params {
    /// Minimum window at which HyStart is active.
    #[param(default = 16.0, range = 1.0..=10000.0)]
    #[param(unit = "segments", source = "Ha and Rhee 2011, section 4; ns-3.44 TcpCubic::HyStartLowWindow")]
    pub low_window: f64,
    /// Maximum gap between two ACKs of a train.
    #[param(default = Span::from_millis(2), range = Span(0)..=Span::from_secs(1))]
    #[param(unit = "time", source = "Ha and Rhee 2011, section 4.1; ns-3.44 TcpCubic::HyStartAckDelta")]
    pub ack_gap: Span,
    /// Duration of a train that ends slow start, as a fraction of the minimum RTT; 1 in ns-3.44.
    #[param(default = 0.5, range = 0.01..=10.0)]
    #[param(unit = "1", source = "Ha and Rhee 2011, section 4.1 (forward delay)")]
    pub train: f64,
    /// Number of RTT samples at the beginning of a round.
    #[param(default = 8, range = 1..=1000)]
    #[param(unit = "1", source = "Ha and Rhee 2011, section 4.2; ns-3.44 TcpCubic::HyStartMinSamples")]
    pub samples: u32,
    /// Increase of the RTT that ends slow start (eta), as a fraction of the minimum RTT; 1 in ns-3.44.
    #[param(basic)]
    #[param(default = 0.125, range = 0.01..=10.0, unit = "1", source = "Ha and Rhee 2011, section 4.2 (eta)")]
    pub delay: f64,
    /// Minimum of that increase.
    #[param(basic, default = Span::from_millis(4), range = Span(0)..=Span::from_secs(1))]
    #[param(
        unit = "time",
        source = "Linux net/ipv4/tcp_cubic.c HYSTART_DELAY_MIN; ns-3.44 TcpCubic::HyStartDelayMin"
    )]
    pub delay_min: Span,
    /// Maximum of that increase; 1 s in ns-3.44.
    #[param(basic, default = Span::from_millis(16), range = Span(0)..=Span::from_secs(10))]
    #[param(unit = "time", source = "Linux net/ipv4/tcp_cubic.c HYSTART_DELAY_MAX")]
    pub delay_max: Span,
    /// RTT samples of a round. The smoothed RTT follows a growing queue late, so that slow start ends up to a round later.
    #[param(expert, default = Sampling::Latest)]
    #[param(
        unit = "1",
        source = "Linux net/ipv4/tcp_cubic.c cubictcp_acked; ns-3.44 TcpSocketBase::ProcessAck"
    )]
    pub rtt: Sampling,
}

/// State of HyStart in the current round.
#[derive(Clone, Debug)]
pub struct Hystart {
    params: Params,
    /// Total bytes delivered once all data in flight at the beginning of the round has arrived.
    end: Option<Bytes>,
    began: Time,
    last: Time,
    /// Minimum of the first RTT samples of this round.
    min: Option<Span>,
    samples: u32,
    /// Minimum of the smoothed RTT.
    min_smoothed: Option<Span>,
}

impl Hystart {
    /// Creates the state before the first round.
    pub fn new(params: Params) -> Hystart {
        Hystart {
            params,
            end: None,
            began: Time::ZERO,
            last: Time::ZERO,
            min: None,
            samples: 0,
            min_smoothed: None,
        }
    }

    fn begin_round(&mut self, ack: &Ack) {
        self.end = Some(ack.delivered + ack.in_flight);
        (self.began, self.last) = (ack.now, ack.now);
        (self.min, self.samples) = (None, 0);
    }

    fn detects(&mut self, now: Time, cwnd: f64, rtt: Option<Span>, base: Option<Span>) -> bool {
        let (Some(rtt), Some(base)) = (rtt, base) else { return false };
        cwnd >= self.params.low_window && (self.detects_train(now, base) || self.detects_delay(rtt, base))
    }

    /// Returns whether the ACK train has lasted long enough: the bandwidth-delay product is in flight.
    fn detects_train(&mut self, now: Time, base: Span) -> bool {
        if now - self.last > self.params.ack_gap {
            return false;
        }
        self.last = now;
        (now - self.began).as_secs() > self.params.train * base.as_secs()
    }

    fn detects_delay(&mut self, rtt: Span, base: Span) -> bool {
        let Params { samples, delay, delay_min, delay_max, .. } = self.params;
        if self.samples < samples {
            self.samples += 1;
            self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
            return false;
        }
        let part = Span::from_secs_f64(delay * base.as_secs());
        let tolerated = part.clamp(delay_min, delay_max.max(delay_min));
        self.min.is_some_and(|min| min > base + tolerated)
    }
}

impl SlowStart for Hystart {
    fn growth(&mut self, ack: &Ack, cwnd: f64) -> Option<f64> {
        let begins = self.end.is_none_or(|end| ack.delivered > end);
        let full = match self.params.rtt {
            // The ACK that begins a round is the first of a burst. The last of the burst before would bring its delay.
            Sampling::Latest => {
                if begins {
                    self.begin_round(ack);
                }
                self.detects(ack.now, cwnd, ack.rtt, ack.min_rtt)
            }
            Sampling::Smoothed => {
                self.min_smoothed = self.min_smoothed.into_iter().chain(ack.srtt).min();
                let full = self.detects(ack.now, cwnd, ack.srtt, self.min_smoothed);
                if begins {
                    self.begin_round(ack);
                }
                full
            }
        };
        (!full).then_some(1.0)
    }

    fn on_congestion(&mut self) {
        *self = Hystart::new(self.params.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests_support;

    /// The ACKs of a round, of 1000 B each and 10 ms apart, with their RTT and smoothed RTT in ms; the window is constant.
    fn end_of_slow_start(rtt: Sampling, rounds: &[[u64; 2]]) -> Option<usize> {
        let params = Params { rtt, ..Params::default() };
        let mut hystart = Hystart::new(params);
        let acks = rounds.iter().flat_map(|rtts| [rtts.map(Span::from_millis); 20]);
        acks.zip(1..).position(|([rtt, srtt], number)| {
            let ack = Ack {
                rtt: Some(rtt),
                srtt: Some(srtt),
                min_rtt: Some(Span::from_millis(80)),
                delivered: Bytes(1000 * number),
                in_flight: Bytes(19_000),
                now: Time(10_000_000 * number),
                ..tests_support::ack(1000)
            };
            hystart.growth(&ack, 20.0).is_none()
        })
    }

    #[test]
    fn the_smoothed_rtt_is_late() {
        // The RTT exceeds 80 ms + 80 ms / 8 in the second round, the smoothed RTT in the third.
        let rounds = [[80, 80], [95, 85], [95, 93]];
        // the ninth ACK of the round
        assert_eq!(end_of_slow_start(Sampling::Latest, &rounds), Some(20 + 8));
        // The first ACK of the third round still belongs to the second.
        assert_eq!(end_of_slow_start(Sampling::Smoothed, &rounds), Some(40 + 9));
        // The minimum of the smoothed RTT counts, not of the RTT.
        let smooth = [[80, 85], [95, 93], [95, 93]];
        assert_eq!(end_of_slow_start(Sampling::Smoothed, &smooth), None);
    }
}
