//! Delivery-rate estimation (draft-cheng-iccrg-delivery-rate-estimation-02 §3): each segment remembers what had
//! been delivered when it was sent.

use crate::Seq;
use crate::cc::{Loss, RateSample};
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Stamps of the segments on the scoreboard, in its order, and what the ACK at hand says of them.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    stamps: VecDeque<Stamp>,
    /// When data was last delivered (C.delivered_time).
    delivered_at: Time,
    /// When the newest segment was sent of those delivered last (C.first_sent_time).
    first_sent: Time,
    /// The newest sent of the segments that the ACK at hand reports, and when it was sent.
    newest: Option<(Stamp, Time)>,
    /// Segments given up on that nobody has been told of.
    losses: Vec<Loss>,
}

/// What was known when a segment was last sent.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    /// Bytes delivered and given up on until then.
    totals: Totals,
    delivered_at: Time,
    first_sent: Time,
    /// Bytes in the network, this segment included.
    in_flight: u32,
    app_limited: bool,
    /// Whether it had been sent before.
    again: bool,
}

/// Bytes so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub delivered: u64,
    pub lost: u64,
}

/// A segment that goes out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub now: Time,
    pub totals: Totals,
    /// Bytes in the network, without and with this segment.
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

    pub fn resend(&mut self, index: usize, sending: &Sending) {
        self.stamps[index] = Stamp { again: true, ..self.stamp(sending) };
    }

    /// The first segment leaves the board.
    pub fn pop(&mut self) {
        self.stamps.pop_front();
    }

    /// The segment at `index`, sent at `sent_at`, has arrived.
    pub fn deliver(&mut self, index: usize, sent_at: Time) {
        if self.newest.is_none_or(|(_, newest)| sent_at >= newest) {
            self.newest = Some((self.stamps[index], sent_at));
        }
    }

    /// The segment of `len` bytes from `seq` on, at `index`, is given up on.
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

    /// Tells of each loss once, as noticed `now` that so much is delivered.
    pub fn take_losses(&mut self, now: Time, delivered: Bytes) -> impl Iterator<Item = Loss> + '_ {
        self.losses.drain(..).map(move |loss| Loss { now, delivered, ..loss })
    }

    /// The sample of the ACK at hand, once all that it reports is delivered.
    pub fn take_sample(&mut self, now: Time, totals: Totals, min_rtt: Option<Span>) -> Option<RateSample> {
        //= exception bbr-rate-sample
        let (stamp, sent_at) = self.newest.take()?;
        self.delivered_at = now;
        self.first_sent = sent_at;
        //= draft-cheng-iccrg-delivery-rate-estimation-02 §2.2.4: ACKs may be compressed, sending may not
        let interval = (sent_at - stamp.first_sent).max(now - stamp.delivered_at);
        //= draft-cheng-iccrg-delivery-rate-estimation-02 §3.3: shorter than a round trip cannot be right
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

    /// A packet each 10 ms over a path of 100 ms: 1000 B / 10 ms, seen over one round trip.
    #[test]
    fn a_steady_flow_is_measured_over_a_round_trip() {
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

    /// ACKs that arrive in a bunch tell of the rate of sending.
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
    fn an_interval_below_the_least_round_trip_is_no_sample() {
        let mut rates = Rates::new();
        send(&mut rates, 0, 0, 0);
        rates.deliver(0, ms(0));
        let totals = Totals { delivered: 1000, lost: 0 };
        assert_eq!(rates.take_sample(ms(40), totals, Some(Span::from_millis(50))), None);
    }
}
