//! The send buffer: data written by the application and not acknowledged by the peer.

use crate::Config;

/// Minimum window, in segments, for which an autotuned buffer is sized (Linux TCP_INIT_CWND).
const MIN_WINDOW: u64 = 10;
/// Memory of a socket buffer besides its payload, in Linux 6.18 on x86-64: room for headers and the fragment list
/// (MAX_TCP_HEADER, skb_shared_info), and the descriptor (sk_buff).
const HEADERS: u64 = 256 + 320;
const DESCRIPTOR: u64 = 256;
const OVERHEAD: u64 = HEADERS + DESCRIPTOR;

/// Capacity of the send buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendBuffer {
    /// Bytes of payload, or of memory.
    size: u64,
    max: u64,
    autotuned: bool,
    in_memory: bool,
    /// A write was refused, and less than a third of the memory is free since.
    is_full: bool,
}

/// Data in the send buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contents {
    pub held: u64,
    /// SACKed bytes of it, whose socket buffers Linux merges (tcp_shift_skb_data).
    pub sacked: u64,
    /// Payload of a socket buffer.
    pub piece: u64,
}

impl SendBuffer {
    pub fn new(config: &Config) -> SendBuffer {
        let (max, autotuned) = (config.send_buffer.0, config.send_buffer_autotuning);
        let size = if autotuned { 0 } else { max };
        SendBuffer { size, max, autotuned, in_memory: config.send_buffer_in_memory, is_full: false }
    }

    /// Returns how much of `wanted` may be written.
    //= exception send-buffer-memory
    pub fn take(&mut self, wanted: u64, contents: Contents) -> u64 {
        let Contents { held, sacked, piece } = contents;
        if !self.in_memory {
            return wanted.min(self.size.saturating_sub(held));
        }
        let used = held + (held - sacked).div_ceil(piece) * OVERHEAD;
        let free = self.size.saturating_sub(used);
        // Linux sk_stream_is_writeable: free memory is at least half of the used.
        self.is_full &= free < used / 2;
        if self.is_full {
            return 0;
        }
        let room = (u128::from(free) * u128::from(piece) / u128::from(piece + OVERHEAD)) as u64;
        self.is_full = wanted > room;
        wanted.min(room)
    }

    /// Grows the buffer to hold `windows` windows of data, up to the limit; it never shrinks. Returns true if it grew.
    pub fn grow(&mut self, windows: u64, window: u64, mss: u64) -> bool {
        let wanted = if self.in_memory {
            // Linux tcp_sndbuf_expand: each segment has a socket buffer, whose memory is allocated in powers of two.
            let of_segment = (mss + HEADERS).next_power_of_two() + DESCRIPTOR;
            windows * (window / mss).max(MIN_WINDOW) * of_segment
        } else {
            windows * window.max(MIN_WINDOW * mss)
        };
        let wanted = wanted.min(self.max);
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

    fn of_1000(held: u64) -> Contents {
        Contents { held, sacked: 0, piece: 1000 }
    }

    #[test]
    fn a_fixed_buffer_has_a_constant_size() {
        let mut buffer = SendBuffer::new(&Stack::Ns3v44.config());
        let mut room = |held| buffer.take(u64::MAX, of_1000(held));
        assert_eq!((room(0), room(131_071), room(200_000)), (131_072, 1, 0));
        assert!(!buffer.grow(2, 1 << 20, 536));
        assert_eq!(buffer.take(u64::MAX, of_1000(0)), 131_072);
    }

    /// Windows, cwnd in segments of 1448 B and SK_MEMINFO_SNDBUF of Linux 6.18.44 (CUBIC and BBR, sampled each 10 ms).
    #[test]
    fn an_autotuned_buffer_has_the_size_measured_in_linux() {
        let measured =
            [(2, 20, 92_160), (2, 64, 294_912), (2, 124, 571_392), (3, 20, 138_240), (3, 128, 884_736)];
        for (windows, cwnd, bytes) in measured {
            let mut buffer = SendBuffer::new(&Stack::Linux.config());
            buffer.grow(windows, 1448 * cwnd, 1448);
            assert_eq!(buffer.size, bytes);
        }
    }

    #[test]
    fn an_autotuned_buffer_follows_the_maximum_window() {
        let config =
            Config { send_buffer: Bytes(300_000), send_buffer_in_memory: false, ..Stack::Linux.config() };
        let mut buffer = SendBuffer::new(&config);
        assert!(buffer.grow(2, 1000, 1000));
        assert_eq!(buffer.size, 20_000, "at least two windows of ten segments");
        assert!(buffer.grow(3, 50_000, 1000));
        assert!(!buffer.grow(3, 40_000, 1000));
        assert_eq!(buffer.size, 150_000);
        assert!(buffer.grow(3, 200_000, 1000));
        assert_eq!(buffer.take(u64::MAX, of_1000(100_000)), 200_000, "at most the limit");
    }

    /// 10,000 B of memory, pieces of 1000 B that take 1832 B.
    #[test]
    fn a_blocked_application_writes_again_when_a_third_is_free() {
        let config =
            Config { send_buffer: Bytes(10_000), send_buffer_autotuning: false, ..Stack::Linux.config() };
        let mut buffer = SendBuffer::new(&config);
        assert_eq!(buffer.take(2000, of_1000(0)), 2000);
        // 10,000 - 3664 B are free, for 3.458 pieces.
        assert_eq!(buffer.take(100_000, of_1000(2000)), 3458);
        assert_eq!(buffer.take(100_000, of_1000(5458)), 0);
        // 4 pieces: 7328 B used, 2672 free; 3.6 pieces count as 4 until the last is acknowledged completely.
        assert_eq!((buffer.take(100_000, of_1000(4000)), buffer.take(100_000, of_1000(3600))), (0, 0));
        // 3 pieces: 5496 B used, 4504 free, for 2.458 pieces.
        assert_eq!(buffer.take(100_000, of_1000(3000)), 2458);
        // 5458 B of which 4000 are SACKed: two pieces, 7122 B used; with 5000 one, 6290 B used and 3710 free.
        assert_eq!(buffer.take(100_000, Contents { sacked: 4000, ..of_1000(5458) }), 0);
        assert_eq!(buffer.take(100_000, Contents { sacked: 5000, ..of_1000(5458) }), 2025);
    }
}
