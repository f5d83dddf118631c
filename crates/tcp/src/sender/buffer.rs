//! The send buffer: data written by the application and not acknowledged by the peer.

use crate::Config;

/// Minimum window, in segments, for which an autotuned buffer is sized (Linux TCP_INIT_CWND).
const MIN_WINDOW: u64 = 10;

/// Capacity of the send buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendBuffer {
    size: u64,
    most: u64,
    autotuned: bool,
}

impl SendBuffer {
    pub fn new(config: &Config) -> SendBuffer {
        let (most, autotuned) = (config.send_buffer.0, config.send_buffer_autotuning);
        SendBuffer { size: if autotuned { 0 } else { most }, most, autotuned }
    }

    /// Returns the free bytes when `held` bytes are in the buffer.
    pub fn room(&self, held: u64) -> u64 {
        self.size.saturating_sub(held)
    }

    //= exception send-buffer-in-payload
    // Linux counts memory: 2304 B (here 6.18, x86-64) per segment of 1448 B on both sides of its rule, where each
    // segment has a separate buffer. Counting payload on both sides gives the same result.
    /// Grows the buffer to hold `windows` windows of data, up to the limit; it never shrinks. Returns true if it grew.
    pub fn grow(&mut self, windows: u64, window: u64, mss: u64) -> bool {
        let wanted = (windows * window.max(MIN_WINDOW * mss)).min(self.most);
        let grows = self.autotuned && wanted > self.size;
        if grows {
            self.size = wanted;
        }
        grows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stack;
    use airwnd_units::Bytes;

    #[test]
    fn a_fixed_buffer_has_a_constant_size() {
        let mut buffer = SendBuffer::new(&Stack::Ns3v44.config());
        assert_eq!((buffer.room(0), buffer.room(131_071), buffer.room(200_000)), (131_072, 1, 0));
        assert!(!buffer.grow(2, 1 << 20, 536));
        assert_eq!(buffer.room(0), 131_072);
    }

    /// Windows, cwnd in segments of 1448 B and SK_MEMINFO_SNDBUF of Linux 6.18.44 (no GSO, CUBIC and BBR, sampled each
    /// 10 ms), which charges 2304 B for each segment.
    #[test]
    fn an_autotuned_buffer_has_the_size_measured_in_linux() {
        let measured =
            [(2, 20, 92_160), (2, 64, 294_912), (2, 124, 571_392), (3, 20, 138_240), (3, 128, 884_736)];
        for (windows, cwnd, bytes) in measured {
            let mut buffer = SendBuffer::new(&Stack::Linux.config());
            buffer.grow(windows, 1448 * cwnd, 1448);
            assert_eq!(buffer.room(0) / 1448 * 2304, bytes);
        }
    }

    #[test]
    fn an_autotuned_buffer_follows_the_maximum_window() {
        let mut buffer = SendBuffer::new(&Config { send_buffer: Bytes(300_000), ..Stack::Linux.config() });
        assert!(buffer.grow(2, 1000, 1000));
        assert_eq!(buffer.room(0), 20_000, "at least two windows of ten segments");
        assert!(buffer.grow(3, 50_000, 1000));
        assert!(!buffer.grow(3, 40_000, 1000));
        assert_eq!(buffer.room(0), 150_000);
        assert!(buffer.grow(3, 200_000, 1000));
        assert_eq!(buffer.room(100_000), 200_000, "at most the limit");
    }
}
