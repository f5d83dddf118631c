//! Use of the congestion window, remembered for a window of data.

use crate::Seq;
use airwnd_units::Bytes;

/// Whether cwnd was used, and how much of it, since data was sent that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// cwnd had no room for another segment after a transmission, or after the last one.
    is_full: bool,
    /// Maximum of the bytes outstanding after a transmission, while cwnd had room.
    max: u32,
    /// SND.NXT at the observation that counts. Its acknowledgment ends the window of data.
    until: Seq,
    /// New data was sent since the last observation.
    has_sent: bool,
}

/// State of the sender when it has sent what it may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AfterSending {
    /// SND.UNA and SND.NXT.
    pub una: Seq,
    pub nxt: Seq,
    /// Bytes that are not cumulatively acknowledged.
    pub outstanding: u32,
    /// cwnd has no room for another segment.
    pub is_full: bool,
    /// Data waits for a window or for pacing.
    pub is_waiting: bool,
}

impl Usage {
    pub fn new(iss: Seq) -> Usage {
        Usage { is_full: false, max: 0, until: iss, has_sent: false }
    }

    #[inline]
    pub fn on_sent(&mut self) {
        self.has_sent = true;
    }

    /// Replaces the observation by that of the last segment sent.
    pub fn observe_segment(&mut self, is_full: bool) {
        self.is_full = is_full;
    }

    /// Observes the use after a transmission, or when cwnd keeps data waiting. A full window counts until it is
    /// acknowledged, otherwise the maximum.
    pub fn observe(&mut self, now: AfterSending) {
        let AfterSending { una, nxt, outstanding, is_full, is_waiting } = now;
        let is_held_back = is_full && is_waiting;
        if !(std::mem::take(&mut self.has_sent) || is_held_back) {
            return;
        }
        let is_new_window = !una.is_before(self.until);
        if is_new_window || is_full || (!self.is_full && outstanding > self.max) {
            *self = Usage { is_full, max: outstanding, until: nxt, has_sent: false };
        }
    }

    /// Returns true if the observation that counts left no room for another segment.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns true if slow start, which doubles the window, has not reached twice the bytes outstanding yet.
    pub fn allows_doubling(&self, cwnd: Bytes) -> bool {
        cwnd.0 < 2 * u64::from(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(una: u32, nxt: u32, cwnd: u32) -> AfterSending {
        let outstanding = nxt - una;
        let is_full = outstanding + 1000 > cwnd;
        AfterSending { una: Seq(una), nxt: Seq(nxt), outstanding, is_full, is_waiting: false }
    }

    fn after(observations: &[AfterSending]) -> Usage {
        let mut usage = Usage::new(Seq(0));
        for observation in observations {
            usage.on_sent();
            usage.observe(*observation);
        }
        usage
    }

    #[test]
    fn a_full_window_counts_until_it_is_acknowledged() {
        let full = sent(0, 10_000, 10_000);
        assert!(after(&[full]).is_full());
        // A short transmission within the window does not end it; the next window of data does.
        assert!(after(&[full, sent(9000, 11_000, 10_000)]).is_full());
        assert!(!after(&[full, sent(10_000, 12_000, 10_000)]).is_full());
    }

    #[test]
    fn slow_start_may_double_the_bytes_outstanding() {
        let usage = after(&[sent(0, 9000, 10_000), sent(2000, 9500, 10_000)]);
        assert!(!usage.is_full());
        assert!(usage.allows_doubling(Bytes(17_999)) && !usage.allows_doubling(Bytes(18_000)));
    }

    #[test]
    fn without_a_transmission_only_waiting_data_counts() {
        let mut usage = after(&[sent(0, 2000, 10_000)]);
        let full = sent(0, 2000, 2000);
        usage.observe(full);
        assert!(!usage.is_full());
        usage.observe(AfterSending { is_waiting: true, ..full });
        assert!(usage.is_full());
    }
}
