//! Shares of the two directions of a path in its RTT.

use airwnd_catalog::Choice;
use airwnd_units::{Span, Time};

/// Queue that a control counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Queue {
    /// Queues of both directions: the RTT in excess of its minimum.
    #[word = "round-trip"]
    RoundTrip,
    /// Queue of the downlink alone: the one-way delay in excess of its minimum. The rest of the RTT belongs to the path.
    /// Without one-way delay: as `round-trip`.
    #[word = "downlink"]
    Downlink,
}

/// Reciprocal of the share of the minimum RTT that delays of the way back usually have, in a cell by waits for grants.
const USUAL: u64 = 2;

/// Divides RTT samples into the queueing delay D of the downlink and the delay U that the way back adds.
///
/// ```math
/// D = \min(\mathit{OWD} - \mathit{OWD}_{\min}, \mathit{RTT} - \mathit{RTT}_{\min}), \qquad
/// U = \min_{\text{two intervals}} (\mathit{RTT} - \mathit{RTT}_{\min} - D)
/// ```
///
/// A one-way delay (OWD) is known up to a constant, which cancels. Clocks that drift make it grow without a queue; no D
/// exceeds what the RTT of the same segment has in excess, so that each RTT sample raises a minimum that is too low. An
/// error of the other sign lowers D and raises U, and so the window.
///
/// The delay of the way back is that of an uplink queue, of delayed ACKs, and of a sender that had nothing to send. The
/// first one delays every segment for some time, the others only some; so the minimum counts, not the mean. An interval
/// lasts one minimum RTT. That after a pause of the sender may have one sample only, which contains the pause; so the
/// minimum counts of the present and the former interval. An increase of the uplink queue is therefore known an RTT and
/// two intervals late, a decrease an RTT. U is zero up to half of the minimum RTT.
#[derive(Clone, Debug)]
pub(crate) struct Downlink {
    /// Error of RTT samples and one-way delays: a tick of timestamps.
    tick: Span,
    min_delay: Option<Span>,
    /// Minimum RTT sample.
    min_rtt: Option<Span>,
    interval_end: Time,
    base_rtt: Span,
    /// Minimum of U in the present and in the former interval, and of all; `None`: no sample.
    present: Option<Span>,
    former: Option<Span>,
    min_back: Option<Span>,
}

impl Downlink {
    /// Creates the state before the first segment. `tick`: of the timestamps.
    pub fn new(tick: Span) -> Downlink {
        Downlink {
            tick,
            min_delay: None,
            min_rtt: None,
            interval_end: Time::ZERO,
            base_rtt: Span::ZERO,
            present: None,
            former: None,
            min_back: None,
        }
    }

    /// Adds a segment with this one-way delay and, if it has completed one, RTT sample; returns its queueing delay.
    /// `base_rtt`: minimum RTT.
    pub fn add(&mut self, now: Time, delay: Span, rtt: Option<Span>, base_rtt: Option<Span>) -> Span {
        let mut min = self.min_delay.map_or(delay, |min| min.min(delay));
        let sample = rtt.zip(base_rtt).map(|(rtt, base)| (base, rtt - base.min(rtt)));
        if let Some((_, excess)) = sample {
            min = min.max(delay - (excess + self.tick).min(delay));
        }
        // U of earlier samples, with the minima of now.
        let known = self.min_delay.replace(min).unwrap_or(min);
        self.min_back = self.min_back.map(|back| back + min - (back + min).min(known));
        let queue = delay - min;
        self.min_rtt = self.min_rtt.into_iter().chain(rtt).min();
        if let Some((base, excess)) = sample {
            self.min_back = self.min_back.map(|back| back + self.base_rtt - (back + self.base_rtt).min(base));
            self.base_rtt = base;
            let back = excess - queue.min(excess);
            if now >= self.interval_end {
                self.former = self.present.take();
                self.interval_end = now + base;
            }
            self.present = Some(self.present.map_or(back, |min| min.min(back)));
            self.min_back = Some(self.min_back.map_or(back, |min| min.min(back)));
        }
        queue
    }

    /// Returns the delay that the way back adds to the minimum RTT.
    pub fn way_back(&self) -> Span {
        let back = self.present.min(self.former).unwrap_or_default();
        if back > self.base_rtt / USUAL { back } else { Span::ZERO }
    }

    /// Returns the queue in which this connection began, which its minimum one-way delay contains: at most what U has been
    /// at least, and what the minimum RTT has in excess. Which direction had more is unknown: up to `max`, what controls of
    /// the device keep in the downlink, it is that one, and more is the uplink's.
    pub fn late(&self, max: Span) -> Span {
        let excess = self.min_rtt.map_or(Span::ZERO, |min| min - self.base_rtt.min(min));
        self.min_back.unwrap_or_default().min(excess).min(max)
    }

    /// Returns the minimum one-way delay.
    pub fn min_delay(&self) -> Option<Span> {
        self.min_delay
    }

    /// Replaces the minimum one-way delay: the route has become a longer one.
    pub fn replace_min_delay(&mut self, delay: Span) {
        self.min_delay = Some(delay);
        (self.present, self.former, self.min_back, self.min_rtt) = (None, None, None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Span = Span::from_millis(20);

    /// Segments every 5 ms with these delays of both directions in ms; returns queueing delay and delay of the way back.
    fn measured(delays: impl IntoIterator<Item = (u64, u64)>, offset_ppm: i64) -> (f64, f64) {
        let mut downlink = Downlink::new(Span::from_millis(1));
        let (mut now, mut queue) = (Time(1_000_000_000), Span::ZERO);
        for (down, up) in delays {
            now += Span::from_millis(5);
            let drift = now.0 as i64 / 1_000_000 * offset_ppm;
            // Clocks that differ by a minute.
            let delay = Span((60_000_000_000 + down as i64 * 1_000_000 + drift) as u64);
            let rtt = BASE + Span::from_millis(down + up);
            queue = downlink.add(now, delay, Some(rtt), Some(BASE));
        }
        (queue.as_millis(), downlink.way_back().as_millis())
    }

    #[test]
    fn each_direction_has_its_queue() {
        assert_eq!(measured((0..100).map(|at| (if at < 50 { 0 } else { 30 }, 0)), 0), (30.0, 0.0));
        assert_eq!(measured((0..100).map(|at| (0, if at < 50 { 0 } else { 300 })), 0), (0.0, 300.0));
        assert_eq!(measured((0..100).map(|at| if at < 50 { (0, 0) } else { (30, 300) }), 0), (30.0, 300.0));
    }

    #[test]
    fn waits_of_single_segments_are_no_uplink_queue() {
        // Every other ACK waits for 40 ms; a pause of half a second; less than half of the minimum RTT.
        assert_eq!(measured((0..100).map(|at| (0, 40 * (at % 2))), 0), (0.0, 0.0));
        assert_eq!(measured((0..100).map(|at| (0, if at == 99 { 500 } else { 0 })), 0), (0.0, 0.0));
        assert_eq!(measured((0..100).map(|_| (0, 9)), 0), (0.0, 0.0));
    }

    #[test]
    fn a_queue_that_was_there_before_is_known_by_the_minimum_rtt_of_the_path() {
        let ms = Span::from_millis;
        // Delays of both directions without the queue of 30 ms that is there at the start of all connections but the first.
        let late = |delays: &[(u64, u64)], before: u64| {
            let mut downlink = Downlink::new(ms(1));
            for (at, (down, up)) in delays.iter().enumerate() {
                let now = Time(1_000_000_000 + 5_000_000 * at as u64);
                let (delay, rtt) = (ms(60_000 + down), BASE + ms(down + up));
                // The first segment completes no sample.
                downlink.add(now, delay, (at > 0).then_some(rtt), Some(BASE + ms(before)));
            }
            downlink.add(Time(2_000_000_000), ms(60_050), Some(BASE + ms(50)), Some(BASE));
            downlink.late(ms(25))
        };
        assert_eq!(late(&[(0, 0), (40, 0), (30, 0)], 0), Span::ZERO);
        assert_eq!(late(&[(20, 0), (40, 0), (30, 0)], 0), ms(20));
        assert_eq!(late(&[(20, 0), (40, 0), (30, 0)], 15), ms(20));
        assert_eq!(late(&[(40, 0), (42, 9), (20, 5), (60, 4)], 0), ms(20));
        assert_eq!(late(&[(30, 0), (40, 9)], 0), ms(25));
        // An uplink queue from the second segment on.
        assert_eq!(late(&[(0, 0), (0, 30), (0, 90)], 0), Span::ZERO);
    }

    #[test]
    fn a_drift_of_the_clocks_is_no_queue() {
        // 20 minutes with 50 ppm: 60 ms. What remains is at most a tick and the drift of an interval.
        for ppm in [50, -50] {
            let (queue, back) = measured((0..240_000).map(|_| (0, 0)), ppm);
            assert!(queue <= 1.01 && back == 0.0, "{ppm}: {queue} {back}");
        }
    }
}
