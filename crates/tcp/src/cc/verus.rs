//! A delay is chosen, and a learnt profile tells the window for it.

use super::parts::profile::Profile;
use super::parts::window::Window;
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Verus: learns which window has which delay, and moves along this profile by small steps of the delay.
///
/// Each epoch has the greatest delay D of its packets, and Dmax = a D + (1 - a) Dmax. The delay to aim at is
/// lowered by delta2 if Dmax > R Dmin; else by delta1 if D rose above Dmax; else it is raised by delta2. The
/// window is what the profile has for it. The profile holds for each window the smoothed delay of packets sent
/// with it; its curve is drawn anew each second: rising, linear between windows, proportional beyond its ends
/// (the original has a smoothing spline). It begins with slow start, up to a loss or a delay. A loss leaves keep
/// times the window that the packet was sent with, which then grows by 1 / cwnd for each segment until packets
/// sent with no more than it are acknowledged. Epochs are closed by ACKs: those without any are made up for when
/// the next one comes, so a silence moves the window only at its end. The delay of a segment that was alone is
/// that of a delayed ACK, and is not heeded; for the same reason the profile gives two segments at least.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Zaki, Pötsch, Chen, Subramanian and Görg, SIGCOMM 2015")]
pub struct Params {
    /// Length of an epoch.
    #[param(default = Span::from_millis(5), range = Span::from_millis(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "Zaki et al. 2015; yzaki/verus@4b1bbf0 EPOCH")]
    pub epoch: Span,
    /// Step down when the delay rises (delta1).
    #[param(default = Span::from_millis(1), range = Span::from_micros(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "Zaki et al. 2015; yzaki/verus@4b1bbf0 DELTA1")]
    pub delta1: Span,
    /// Step up, and down when the delay is above the ratio (delta2).
    #[param(default = Span::from_millis(2), range = Span::from_micros(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "Zaki et al. 2015; yzaki/verus@4b1bbf0 DELTA2")]
    pub delta2: Span,
    /// Greatest delay over least delay that is tolerated (R); the paper compares 2, 4 and 6.
    #[param(default = 6.0, range = 1.0..=100.0)]
    #[param(unit = "1", source = "Zaki et al. 2015 (R); yzaki/verus@4b1bbf0 VERUS_R")]
    pub ratio: f64,
    /// Weight of an epoch's greatest delay (a).
    #[param(default = 0.8, range = 0.01..=1.0)]
    #[param(unit = "1", source = "yzaki/verus@4b1bbf0 ewma(dMaxLast, dMax, 0.2)")]
    pub weight: f64,
    /// How often the profile's curve is drawn.
    #[param(default = Span::from_secs(1), range = Span::from_millis(10)..=Span::from_secs(100))]
    #[param(unit = "time", source = "Zaki et al. 2015; yzaki/verus@4b1bbf0 CURVE_TIMER")]
    pub redraw: Span,
    /// Part of the window that is kept at a loss (M).
    #[param(default = 0.7, range = 0.1..=0.99)]
    #[param(unit = "1", source = "Zaki et al. 2015 (M); yzaki/verus@4b1bbf0 VERUS_M_DECREASE")]
    pub keep: f64,
    /// Delay that ends slow start.
    #[param(default = Span::from_millis(500), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "yzaki/verus@4b1bbf0 SS_EXIT_THRESHOLD")]
    pub slow_start_exit: Span,
    /// The largest window in the profile.
    #[param(default = 40_000, range = 100..=1_000_000)]
    #[param(unit = "segments", source = "yzaki/verus@4b1bbf0 MAX_W_DELAY_CURVE")]
    pub largest: u32,
}

/// Growth of an epoch's greatest delay, in seconds, that is none (yzaki/verus@4b1bbf0).
const UNCHANGED: f64 = 1e-7;
/// Segments that the profile leaves: one would wait for a delayed ACK.
const LEAST: f64 = 2.0;
/// Epochs of silence after which nothing more is learnt: the retransmission timer is near.
const LONGEST_SILENCE: u64 = 1000;
/// Changes of the window that are remembered: those of five seconds.
const REMEMBERED: usize = 1024;

/// State of Verus.
#[derive(Clone, Debug)]
pub struct Verus {
    params: Params,
    window: Window,
    profile: Profile,
    phase: Phase,
    /// When the window changed, and to how many segments; the first is what the newest ACK's segment was sent with.
    history: VecDeque<(Time, f64)>,
    epoch: Epoch,
    drawn: Time,
    last_ack: Time,
    /// Least, smoothed greatest and wanted delay in seconds.
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
    /// The greatest delay, in seconds.
    worst: Option<f64>,
    limited: bool,
}

impl Verus {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Verus {
        let window = Window::new(ctx);
        let profile = Profile::new(params.largest as usize);
        let mut history = VecDeque::with_capacity(REMEMBERED);
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
            if self.history.len() == REMEMBERED {
                self.history.pop_front();
            }
            self.history.push_back((now, self.window.segments()));
        }
    }

    /// The window when a segment was sent; segments are asked for in this order.
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

    /// Begins to move along the profile, from the delay that the window has.
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

    /// Moves the aim by what the epoch has brought.
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
        } else if now - last > UNCHANGED {
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
                self.set_window(now, window.max(LEAST));
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
            // What was lost was sent with about the window of what is now acknowledged behind it.
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

    fn told(verus: &mut Verus, ack: &Ack) -> u64 {
        verus.on_delivery(ack);
        verus.on_ack(ack);
        verus.cwnd().0
    }

    /// Slow start to 40 segments over an empty path of 100 ms, where each segment beyond 20 waits for 5 ms.
    fn grown() -> Verus {
        let mut verus = Verus::new(Params::default(), &ctx(1000, 10));
        for round in 1..=4 {
            for _ in 0..10 * (1 << (round - 1)).min(2) {
                let waits = 5 * verus.sent_with(Time((round - 1) * 100_000_000)).max(20.0) as u64 - 100;
                told(&mut verus, &at(100 * round, 100 + waits));
            }
        }
        verus
    }

    #[test]
    fn slow_start_ends_with_a_delay_and_leaves_a_part() {
        let mut verus = Verus::new(Params::default(), &ctx(1000, 10));
        for ms in 100..110 {
            told(&mut verus, &at(ms, 100));
        }
        assert_eq!((verus.cwnd(), verus.ssthresh()), (Bytes(20_000), Bytes(u64::MAX)));
        // a segment that was sent at 110 ms with 20 segments: 0.7 x 20, and 1 / 14 for its ACK
        assert_eq!(told(&mut verus, &at(611, 501)), 14_071);
        assert_eq!(verus.phase, Phase::AfterLoss);
    }

    #[test]
    fn after_a_loss_the_profile_leads_once_new_segments_are_acknowledged() {
        let mut verus = grown();
        let before = verus.cwnd().0;
        verus.on_congestion(&Congestion { now: Time(450_000_000), ..congestion(Signal::Loss, before) });
        let lost_with = verus.history[0].1;
        assert!((verus.cwnd().0 as f64 - 700.0 * lost_with).abs() < 1.0);
        told(&mut verus, &at(460, 150));
        assert_eq!(verus.phase, Phase::AfterLoss, "sent at 310 ms, before the loss");
        told(&mut verus, &at(560, 105));
        assert_eq!(verus.phase, Phase::Steady, "sent at 455 ms, after it");
    }

    #[test]
    fn the_aim_moves_by_the_three_rules() {
        let mut verus = grown();
        verus.on_congestion(&Congestion { now: Time(450_000_000), ..congestion(Signal::Loss, 40_000) });
        told(&mut verus, &at(560, 105));
        let aim = |verus: &Verus| (1e6 * verus.d_est).round() as i64;
        let begin = aim(&verus);
        // the first epoch of all has nothing to compare with: up by 2 ms
        told(&mut verus, &at(565, 105));
        assert_eq!(aim(&verus) - begin, 2000);
        // its delay was 105 ms, and so is this one's: up by 2 ms more
        told(&mut verus, &at(570, 115));
        assert_eq!(aim(&verus) - begin, 4000);
        // 115 ms are above the smoothed 105 ms: down by 1 ms
        told(&mut verus, &at(575, 900));
        assert_eq!(aim(&verus) - begin, 3000);
        // 900 ms are above 113 ms: down by 1 ms; Dmax becomes 743 ms, more than 6 x 100 ms: down by 2 ms
        told(&mut verus, &at(580, 900));
        assert_eq!(aim(&verus) - begin, 2000);
        told(&mut verus, &at(585, 900));
        assert_eq!(aim(&verus) - begin, 0);
    }

    #[test]
    fn a_silence_is_made_up_for() {
        let mut verus = grown();
        verus.on_congestion(&Congestion { now: Time(450_000_000), ..congestion(Signal::Loss, 40_000) });
        told(&mut verus, &at(560, 105));
        let begin = verus.d_est;
        // Up to 105 ms of silence nothing is late: 21 epochs up by 2 ms; then Dmax follows the silence, which
        // grows by 5 ms an epoch and is always above it: 79 epochs down, to the least delay at last.
        told(&mut verus, &at(560 + 105, 105));
        assert!((verus.d_est - begin - 0.042).abs() < 1e-9);
        told(&mut verus, &at(560 + 105 + 500, 105));
        assert!((verus.d_est - begin - 0.042 - 0.042 + 0.079).abs() < 1e-9, "{}", verus.d_est - begin);
    }

    #[test]
    fn a_lone_segment_says_nothing() {
        let mut verus = grown();
        verus.on_congestion(&Congestion { now: Time(450_000_000), ..congestion(Signal::Loss, 40_000) });
        told(&mut verus, &at(560, 105));
        told(&mut verus, &Ack { prior_in_flight: Bytes(1000), ..at(562, 2000) });
        assert_eq!(verus.epoch.worst, Some(0.105));
    }

    #[test]
    fn a_sender_without_data_aims_no_higher() {
        let mut verus = grown();
        verus.on_congestion(&Congestion { now: Time(450_000_000), ..congestion(Signal::Loss, 40_000) });
        told(&mut verus, &at(560, 105));
        told(&mut verus, &at(565, 105));
        let before = verus.cwnd();
        for ms in 566..1000 {
            told(&mut verus, &Ack { cwnd_limited: false, ..at(ms, 105) });
        }
        assert!(verus.cwnd() <= before + Bytes(1000));
    }
}
