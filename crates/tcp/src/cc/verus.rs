//! Verus: delay target, and window from a learned delay profile.

use super::parts::profile::Profile;
use super::parts::window::Window;
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Verus: moves a delay target in small steps each epoch and takes the window from a learned delay profile.
///
/// In each epoch D is the maximum delay of its packets, smoothed to
///
/// ```math
/// D_{\max} \leftarrow a \, D + (1 - a) \, D_{\max}
/// ```
///
/// The delay target then moves by
///
/// ```math
/// \begin{cases}
/// -\delta_2 & D_{\max} > R \, D_{\min} \\
/// -\delta_1 & D > D_{\max} \\
/// +\delta_2 & \text{otherwise}
/// \end{cases}
/// ```
///
/// with Dmax from before the epoch. The target is at least Dmin, and it is not raised in an epoch in which cwnd did not
/// limit the sender. The window is that of the profile at the delay target. The profile contains, for each window, the
/// smoothed delay of packets sent with it. Its curve is recomputed once per `redraw`. It is non-decreasing, linear
/// between windows and proportional beyond its ends.
///
/// A connection begins with slow start, which ends at a loss or at a delay above `slow_start_exit`. Either sets the
/// window to `keep` times the one with which the packet was sent. It then grows by 1 / cwnd per segment until packets
/// sent with at most that window are acknowledged.
///
/// Differences from the original: the profile is piecewise linear, not a smoothing spline. Epochs end with ACKs: epochs
/// without an ACK are processed when the next ACK arrives, so a silence changes the window only at its end. The delay
/// of a single segment in flight is ignored, because it includes the wait of a delayed ACK. For the same reason the
/// profile yields at least two segments.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Zaki, Pötsch, Chen, Subramanian, Görg: Adaptive Congestion Control for Unpredictable Cellular \
              Networks, SIGCOMM 2015"
)]
pub struct Params {
    /// Epoch length.
    #[param(default = Span::from_millis(5), range = Span::from_millis(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "Zaki et al. 2015; yzaki/verus@4b1bbf0 EPOCH")]
    pub epoch: Span,
    /// Decrement of the delay target when the delay rises (delta1).
    #[param(default = Span::from_millis(1), range = Span::from_micros(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "Zaki et al. 2015; yzaki/verus@4b1bbf0 DELTA1")]
    pub delta1: Span,
    /// Increment of the delay target, and decrement when Dmax exceeds R Dmin (delta2).
    #[param(default = Span::from_millis(2), range = Span::from_micros(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "Zaki et al. 2015; yzaki/verus@4b1bbf0 DELTA2")]
    pub delta2: Span,
    /// Maximum tolerated ratio of Dmax to Dmin (R); the paper compares 2, 4 and 6.
    #[param(basic, default = 6.0, range = 1.0..=100.0)]
    #[param(unit = "1", source = "Zaki et al. 2015 (R); yzaki/verus@4b1bbf0 VERUS_R")]
    pub ratio: f64,
    /// Weight of an epoch's maximum delay in Dmax (a).
    #[param(default = 0.8, range = 0.01..=1.0)]
    #[param(unit = "1", source = "yzaki/verus@4b1bbf0 ewma(dMaxLast, dMax, 0.2)")]
    pub weight: f64,
    /// Interval at which the profile's curve is recomputed.
    #[param(expert, default = Span::from_secs(1), range = Span::from_millis(10)..=Span::from_secs(100))]
    #[param(unit = "time", source = "Zaki et al. 2015; yzaki/verus@4b1bbf0 CURVE_TIMER")]
    pub redraw: Span,
    /// Multiplicative decrease: fraction of the window kept at a loss (M).
    #[param(default = 0.7, range = 0.1..=0.99)]
    #[param(unit = "1", source = "Zaki et al. 2015 (M); yzaki/verus@4b1bbf0 VERUS_M_DECREASE")]
    pub keep: f64,
    /// Delay above which slow start ends.
    #[param(default = Span::from_millis(500), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "yzaki/verus@4b1bbf0 SS_EXIT_THRESHOLD")]
    pub slow_start_exit: Span,
    /// Maximum window in the profile.
    #[param(default = 40_000, range = 100..=1_000_000)]
    #[param(unit = "segments", source = "yzaki/verus@4b1bbf0 MAX_W_DELAY_CURVE")]
    pub largest: u32,
}

/// Increase of an epoch's maximum delay, in seconds, up to which it counts as unchanged (yzaki/verus@4b1bbf0).
const TOLERANCE: f64 = 1e-7;
/// Minimum window from the profile, in segments: a single one would wait for a delayed ACK.
const MIN: f64 = 2.0;
/// Maximum number of epochs without an ACK that are processed: the retransmission timer is close to expiry.
const LONGEST_SILENCE: u64 = 1000;
/// Number of window changes kept: those of five seconds.
const HISTORY: usize = 1024;

/// State of Verus.
#[derive(Clone, Debug)]
pub struct Verus {
    params: Params,
    window: Window,
    profile: Profile,
    phase: Phase,
    /// Times of window changes and the new window in segments; the first entry is the window with which the newest
    /// acknowledged segment was sent.
    history: VecDeque<(Time, f64)>,
    epoch: Epoch,
    drawn: Time,
    last_ack: Time,
    /// Minimum, smoothed maximum and target delay in seconds.
    d_min: f64,
    d_max: Option<f64>,
    d_est: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    Steady,
    AfterLoss,
}

#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    began: Time,
    /// Maximum delay, in seconds.
    worst: Option<f64>,
    limited: bool,
}

impl Verus {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Verus {
        let window = Window::new(ctx);
        let profile = Profile::new(params.largest as usize);
        let mut history = VecDeque::with_capacity(HISTORY);
        history.push_back((Time::ZERO, window.segments()));
        Verus {
            params,
            window,
            profile,
            phase: Phase::SlowStart,
            history,
            epoch: Epoch::default(),
            drawn: Time::ZERO,
            last_ack: Time::ZERO,
            d_min: f64::INFINITY,
            d_max: None,
            d_est: 0.0,
        }
    }

    fn set_window(&mut self, now: Time, segments: f64) {
        let before = self.window.segments();
        self.window.set(segments);
        if self.window.segments() != before {
            if self.history.len() == HISTORY {
                self.history.pop_front();
            }
            self.history.push_back((now, self.window.segments()));
        }
    }

    /// Returns the window with which a segment was sent. Times must be queried in ascending order.
    fn sent_with(&mut self, sent: Time) -> f64 {
        while self.history.get(1).is_some_and(|next| next.0 <= sent) {
            self.history.pop_front();
        }
        self.history[0].1
    }

    fn draw(&mut self, now: Time) {
        self.profile.draw();
        self.drawn = now;
    }

    /// Starts to follow the profile, at the delay of the current window.
    fn follow_profile(&mut self, now: Time) {
        if self.phase == Phase::SlowStart {
            self.draw(now);
        }
        self.d_est = self.profile.delay(self.window.segments()).unwrap_or_default();
    }

    fn lose(&mut self, now: Time, kept: f64) {
        self.set_window(now, kept.min(self.window.segments()));
        self.follow_profile(now);
        self.phase = Phase::AfterLoss;
    }

    /// Moves the delay target according to the epoch's delays.
    //= Zaki et al. 2015, section 4
    fn close_epoch(&mut self) {
        let Params { epoch, delta1, delta2, ratio, weight, .. } = self.params;
        let end = self.epoch.began + epoch;
        let silence = end.since(self.last_ack).as_secs();
        let worst = self.epoch.worst.take();
        let now = worst.unwrap_or_else(|| self.d_max.unwrap_or_default().max(silence));
        let last = *self.d_max.get_or_insert(now);
        let step = if last > ratio * self.d_min {
            -delta2.as_secs()
        } else if now - last > TOLERANCE {
            -delta1.as_secs()
        } else if self.epoch.limited {
            delta2.as_secs()
        } else {
            0.0
        };
        self.d_est = (self.d_est + step).max(self.d_min);
        self.d_max = Some((1.0 - weight) * last + weight * now);
        self.epoch.began = end;
    }

    //= exception verus-on-acks
    fn close_epochs(&mut self, now: Time) {
        let epochs = (now - self.epoch.began).0 / self.params.epoch.0;
        for _ in 0..epochs.min(LONGEST_SILENCE) {
            self.close_epoch();
        }
        if epochs > 0 {
            if epochs > LONGEST_SILENCE {
                self.epoch.began = now;
            }
            self.epoch.limited = false;
            if now - self.drawn >= self.params.redraw {
                self.draw(now);
            }
            if let Some(window) = self.profile.window(self.d_est) {
                self.set_window(now, window.max(MIN));
            }
        }
    }
}

impl CongestionControl for Verus {
    fn on_delivery(&mut self, ack: &Ack) {
        if self.phase == Phase::Steady {
            self.close_epochs(ack.now);
        }
        self.last_ack = ack.now;
        self.epoch.limited |= ack.cwnd_limited;
        //= exception verus-lone-segments
        let lone = self.window.count(ack.prior_in_flight) <= 1.0;
        let Some(rtt) = ack.rtt.filter(|rtt| rtt.0 > 0 && !lone) else { return };
        let sent_with = self.sent_with(Time(ack.now.0.saturating_sub(rtt.0)));
        let delay = rtt.as_secs();
        self.d_min = self.d_min.min(delay);
        self.epoch.worst = Some(self.epoch.worst.map_or(delay, |worst| worst.max(delay)));
        if self.phase == Phase::AfterLoss && sent_with <= self.window.segments() {
            self.phase = Phase::Steady;
            self.epoch = Epoch { began: ack.now, worst: Some(delay), limited: ack.cwnd_limited };
        }
        if self.phase != Phase::AfterLoss {
            self.profile.learn(sent_with, delay);
        }
        if self.phase == Phase::SlowStart && rtt > self.params.slow_start_exit {
            self.lose(ack.now, self.params.keep * sent_with);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let acked = self.window.count(ack.acked);
        let growth = match self.phase {
            _ if !ack.cwnd_limited => return,
            Phase::SlowStart => acked,
            Phase::AfterLoss => acked / self.window.segments(),
            Phase::Steady => return,
        };
        self.set_window(ack.now, self.window.segments() + growth);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.signal.is_timeout() {
            self.lose(event.now, 1.0);
            self.d_est = self.d_min.min(self.d_est);
        } else if self.phase != Phase::AfterLoss {
            // The lost segments were sent with about the same window as the segments acknowledged after them.
            self.lose(event.now, self.params.keep * self.history[0].1);
        }
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        if self.phase == Phase::SlowStart { Bytes(u64::MAX) } else { self.window.cwnd() }
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        let now = self.last_ack;
        self.set_window(now, self.window.count(cwnd));
        self.d_est = self.profile.delay(self.window.segments()).unwrap_or(self.d_est);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};

    fn at(ms: u64, rtt_ms: u64) -> Ack {
        let rtt = Some(Span::from_millis(rtt_ms));
        Ack { now: Time(ms * 1_000_000), rtt, prior_in_flight: Bytes(2000), ..ack(1000) }
    }

    fn cwnd_after(verus: &mut Verus, ack: &Ack) -> u64 {
        verus.on_delivery(ack);
        verus.on_ack(ack);
        verus.cwnd().0
    }

    /// Returns a controller after slow start to 40 segments on a path of 100 ms, where each segment beyond 20 is queued
    /// for 5 ms.
    fn grown() -> Verus {
        let mut verus = Verus::new(Params::default(), &ctx(1000, 10));
        for round in 1..=4 {
            for _ in 0..10 * (1 << (round - 1)).min(2) {
                let waits = 5 * verus.sent_with(Time((round - 1) * 100_000_000)).max(20.0) as u64 - 100;
                cwnd_after(&mut verus, &at(100 * round, 100 + waits));
            }
        }
        verus
    }

    #[test]
    fn a_long_delay_ends_slow_start_and_reduces_the_window() {
        let mut verus = Verus::new(Params::default(), &ctx(1000, 10));
        for ms in 100..110 {
            cwnd_after(&mut verus, &at(ms, 100));
        }
        assert_eq!((verus.cwnd(), verus.ssthresh()), (Bytes(20_000), Bytes(u64::MAX)));
        // a segment sent at 110 ms with a window of 20 segments: 0.7 x 20, and 1 / 14 for its ACK
        assert_eq!(cwnd_after(&mut verus, &at(611, 501)), 14_071);
        assert_eq!(verus.phase, Phase::AfterLoss);
    }

    #[test]
    fn the_profile_is_followed_once_segments_sent_after_a_loss_are_acknowledged() {
        let mut verus = grown();
        let before = verus.cwnd().0;
        verus.on_congestion(&Congestion { now: Time(450_000_000), ..congestion(Signal::Loss, before) });
        let lost_with = verus.history[0].1;
        assert!((verus.cwnd().0 as f64 - 700.0 * lost_with).abs() < 1.0);
        cwnd_after(&mut verus, &at(460, 150));
        assert_eq!(verus.phase, Phase::AfterLoss, "sent at 310 ms, before the loss");
        cwnd_after(&mut verus, &at(560, 105));
        assert_eq!(verus.phase, Phase::Steady, "sent at 455 ms, after it");
    }

    #[test]
    fn the_delay_target_moves_by_the_three_rules() {
        let mut verus = grown();
        verus.on_congestion(&Congestion { now: Time(450_000_000), ..congestion(Signal::Loss, 40_000) });
        cwnd_after(&mut verus, &at(560, 105));
        let target = |verus: &Verus| (1e6 * verus.d_est).round() as i64;
        let begin = target(&verus);
        // the first epoch has no previous delay: up by 2 ms
        cwnd_after(&mut verus, &at(565, 105));
        assert_eq!(target(&verus) - begin, 2000);
        // its delay was 105 ms, as in this epoch: up by another 2 ms
        cwnd_after(&mut verus, &at(570, 115));
        assert_eq!(target(&verus) - begin, 4000);
        // 115 ms are above the smoothed 105 ms: down by 1 ms
        cwnd_after(&mut verus, &at(575, 900));
        assert_eq!(target(&verus) - begin, 3000);
        // 900 ms are above 113 ms: down by 1 ms; Dmax becomes 743 ms, more than 6 x 100 ms: down by 2 ms
        cwnd_after(&mut verus, &at(580, 900));
        assert_eq!(target(&verus) - begin, 2000);
        cwnd_after(&mut verus, &at(585, 900));
        assert_eq!(target(&verus) - begin, 0);
    }

    #[test]
    fn silent_epochs_are_processed_with_the_next_ack() {
        let mut verus = grown();
        verus.on_congestion(&Congestion { now: Time(450_000_000), ..congestion(Signal::Loss, 40_000) });
        cwnd_after(&mut verus, &at(560, 105));
        let begin = verus.d_est;
        // Up to 105 ms of silence no packet is late: 21 epochs up by 2 ms. Then Dmax follows the silence, which grows
        // by 5 ms per epoch and is always above it: 79 epochs down, finally to the minimum delay.
        cwnd_after(&mut verus, &at(560 + 105, 105));
        assert!((verus.d_est - begin - 0.042).abs() < 1e-9);
        cwnd_after(&mut verus, &at(560 + 105 + 500, 105));
        assert!((verus.d_est - begin - 0.042 - 0.042 + 0.079).abs() < 1e-9, "{}", verus.d_est - begin);
    }

    #[test]
    fn the_delay_of_a_single_segment_in_flight_is_ignored() {
        let mut verus = grown();
        verus.on_congestion(&Congestion { now: Time(450_000_000), ..congestion(Signal::Loss, 40_000) });
        cwnd_after(&mut verus, &at(560, 105));
        cwnd_after(&mut verus, &Ack { prior_in_flight: Bytes(1000), ..at(562, 2000) });
        assert_eq!(verus.epoch.worst, Some(0.105));
    }

    #[test]
    fn an_application_limited_sender_does_not_raise_the_target() {
        let mut verus = grown();
        verus.on_congestion(&Congestion { now: Time(450_000_000), ..congestion(Signal::Loss, 40_000) });
        cwnd_after(&mut verus, &at(560, 105));
        cwnd_after(&mut verus, &at(565, 105));
        let before = verus.cwnd();
        for ms in 566..1000 {
            cwnd_after(&mut verus, &Ack { cwnd_limited: false, ..at(ms, 105) });
        }
        assert!(verus.cwnd() <= before + Bytes(1000));
    }
}
