//! Delivery rate estimation (draft-cheng-iccrg-delivery-rate-estimation-02 §3): each segment records the delivery state
//! at its transmission.

use crate::Seq;
use crate::cc::{Loss, RateSample};
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Stamps of the segments on the scoreboard, in the same order, and the sample of the current ACK.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    stamps: VecDeque<Stamp>,
    /// Time of the last delivery (C.delivered_time).
    delivered_at: Time,
    /// Transmission time of the most recently sent segment of the last delivery (C.first_sent_time).
    first_sent: Time,
    /// The most recently sent segment reported by the current ACK, and its transmission time.
    newest: Option<(Stamp, Time)>,
    /// Lost segments not yet reported to the congestion control.
    losses: Vec<Loss>,
}

/// State at the last transmission of a segment.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    /// Bytes delivered and lost until then.
    totals: Totals,
    delivered_at: Time,
    first_sent: Time,
    /// Bytes in flight, including this segment.
    in_flight: u32,
    app_limited: bool,
    /// True if the segment had been sent before.
    again: bool,
}

/// Cumulative bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub delivered: u64,
    pub lost: u64,
}

/// A transmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub now: Time,
    pub totals: Totals,
    /// Bytes in flight, without and with this segment.
    pub before: u32,
    pub after: u32,
    pub app_limited: bool,
}

impl Rates {
    pub fn new() -> Rates {
        Rates {
            stamps: VecDeque::with_capacity(256),
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            newest: None,
            losses: Vec::with_capacity(64),
        }
    }

    fn stamp(&mut self, sending: &Sending) -> Stamp {
        if sending.before == 0 {
            self.delivered_at = sending.now;
            self.first_sent = sending.now;
        }
        Stamp {
            totals: sending.totals,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            in_flight: sending.after,
            app_limited: sending.app_limited,
            again: false,
        }
    }

    pub fn push(&mut self, sending: &Sending) {
        let stamp = self.stamp(sending);
        self.stamps.push_back(stamp);
    }

    /// Records that bytes of the segment added last had been sent before.
    pub fn mark_sent_before(&mut self) {
        if let Some(stamp) = self.stamps.back_mut() {
            stamp.again = true;
        }
    }

    pub fn resend(&mut self, index: usize, sending: &Sending) {
        self.stamps[index] = Stamp { again: true, ..self.stamp(sending) };
    }

    /// Removes the first segment of the scoreboard.
    pub fn pop(&mut self) {
        self.stamps.pop_front();
    }

    /// Records delivery of the segment at `index`, sent at `sent_at`.
    pub fn deliver(&mut self, index: usize, sent_at: Time) {
        if self.newest.is_none_or(|(_, newest)| sent_at >= newest) {
            self.newest = Some((self.stamps[index], sent_at));
        }
    }

    /// Records loss of the segment of `len` bytes from `seq`, at `index`.
    pub fn lose(&mut self, index: usize, seq: Seq, len: u32, totals: Totals) {
        let stamp = self.stamps[index];
        self.losses.push(Loss {
            now: Time::ZERO,
            seq,
            delivered: Bytes::ZERO,
            len: Bytes(u64::from(len)),
            in_flight_at_send: Bytes(u64::from(stamp.in_flight)),
            lost_since_send: Bytes(totals.lost - stamp.totals.lost),
            delivered_since_send: Bytes(totals.delivered - stamp.totals.delivered),
            app_limited: stamp.app_limited,
        });
    }

    /// Takes the losses recorded so far, as of `now` with `delivered` bytes delivered.
    pub fn take_losses(&mut self, now: Time, delivered: Bytes) -> impl Iterator<Item = Loss> + '_ {
        self.losses.drain(..).map(move |loss| Loss { now, delivered, ..loss })
    }

    /// Returns the sample of the current ACK, after all its deliveries are recorded.
    pub fn take_sample(&mut self, now: Time, totals: Totals, min_rtt: Option<Span>) -> Option<RateSample> {
        //= exception bbr-rate-sample
        let (stamp, sent_at) = self.newest.take()?;
        self.delivered_at = now;
        self.first_sent = sent_at;
        //= draft-cheng-iccrg-delivery-rate-estimation-02 §2.2.4: ACKs may be compressed; use the longer interval
        let interval = (sent_at - stamp.first_sent).max(now - stamp.delivered_at);
        //= draft-cheng-iccrg-delivery-rate-estimation-02 §3.3: an interval shorter than the RTT is not plausible
        let credible = interval > Span::ZERO && min_rtt.is_none_or(|min| interval >= min);
        credible.then(|| RateSample {
            delivered: Bytes(totals.delivered - stamp.totals.delivered),
            interval,
            prior_delivered: Bytes(stamp.totals.delivered),
            in_flight_at_send: Bytes(u64::from(stamp.in_flight)),
            lost: Bytes(totals.lost - stamp.totals.lost),
            app_limited: stamp.app_limited,
            rtt: (!stamp.again).then(|| now - sent_at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    fn send(rates: &mut Rates, at: u64, delivered: u64, before: u32) {
        let totals = Totals { delivered, lost: 0 };
        rates.push(&Sending { now: ms(at), totals, before, after: before + 1000, app_limited: false });
    }

    /// One packet per 10 ms over a path of 100 ms: 1000 B / 10 ms, measured over one RTT.
    #[test]
    fn a_steady_flow_is_measured_over_one_rtt() {
        let mut rates = Rates::new();
        for packet in 0..10 {
            send(&mut rates, 10 * packet, 0, 1000 * packet as u32);
        }
        for packet in 0..10 {
            rates.deliver(0, ms(10 * packet));
            rates.pop();
            let totals = Totals { delivered: 1000 * (packet + 1), lost: 0 };
            let sample =
                rates.take_sample(ms(100 + 10 * packet), totals, Some(Span::from_millis(100))).unwrap();
            assert_eq!(sample.delivered, Bytes(1000 * (packet + 1)));
            assert_eq!(sample.interval, Span::from_millis(100 + 10 * packet));
            send(&mut rates, 100 + 10 * packet, 1000 * (packet + 1), 9000);
        }
        rates.deliver(0, ms(100));
        let sample = rates.take_sample(ms(200), Totals { delivered: 11_000, lost: 0 }, None).unwrap();
        assert_eq!((sample.delivered, sample.interval), (Bytes(10_000), Span::from_millis(100)));
        assert_eq!(sample.rate().0, 800_000);
        assert_eq!(sample.rtt, Some(Span::from_millis(100)));
    }

    /// ACKs that arrive in a burst give the send rate.
    #[test]
    fn compressed_acks_do_not_inflate_the_rate() {
        let mut rates = Rates::new();
        for packet in 0..10 {
            send(&mut rates, 10 * packet, 0, 1000 * packet as u32);
        }
        for packet in 0..10 {
            rates.deliver(0, ms(10 * packet));
            rates.pop();
        }
        let sample = rates.take_sample(ms(95), Totals { delivered: 10_000, lost: 0 }, None).unwrap();
        assert_eq!((sample.delivered, sample.interval), (Bytes(10_000), Span::from_millis(95)));
        assert_eq!(sample.prior_delivered, Bytes(0));
    }

    #[test]
    fn an_interval_below_the_minimum_rtt_gives_no_sample() {
        let mut rates = Rates::new();
        send(&mut rates, 0, 0, 0);
        rates.deliver(0, ms(0));
        let totals = Totals { delivered: 1000, lost: 0 };
        assert_eq!(rates.take_sample(ms(40), totals, Some(Span::from_millis(50))), None);
    }
}
