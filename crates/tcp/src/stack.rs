//! Stacks: what a TCP implementation of some year does by default, as one table.

use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span};

/// A set of TCP defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Stack {
    /// The one-way Reno agent and sink of ns-2: no SACK, no timestamps, an ACK for every packet.
    //= exception ns2-with-handshake
    #[word = "ns2-reno"]
    Ns2Reno,
    /// ns-3.26 (October 2016): NewReno without SACK, initial window 1.
    #[word = "ns3.26"]
    Ns3v26,
    /// ns-3.44 (March 2025): SACK, proportional rate reduction, initial window 10.
    #[word = "ns3.44"]
    Ns3v44,
    /// Linux 6.18 (November 2025), untuned: RACK-TLP, proportional rate reduction, autotuned buffers.
    #[word = "linux"]
    Linux,
}

/// How fast retransmit goes on until all is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Recovery {
    /// RFC 5681 §3.2: the first ACK of new data ends it.
    #[word = "reno"]
    Reno,
    /// RFC 6582: partial ACKs prolong it; with SACK this is RFC 6675.
    #[word = "newreno"]
    NewReno,
    /// RFC 6937: as `newreno`, with the flight brought down in proportion to what is delivered.
    #[word = "prr"]
    Prr,
    /// RFC 9937: as `prr`, and below the threshold faster while ACKs of new data tell of no further loss.
    #[word = "prr-safe-ack"]
    PrrSafe,
}

/// How a segment is known to be lost before the timeout. Without SACK it is by duplicates in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum LossDetection {
    /// So many duplicate ACKs, or SACKed segments above it (RFC 5681, RFC 6675).
    #[word = "duplicates"]
    Duplicates,
    /// It was sent a round trip and a while before something that has arrived (RFC 8985, RACK).
    #[word = "rack"]
    Rack,
}

/// What the new slow-start threshold is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Flight {
    /// All that is sent and not cumulatively acknowledged (RFC 5681 §2).
    #[word = "outstanding"]
    Outstanding,
    /// What is thought to be still in the network (RFC 6675 §2 "pipe"), as in ns-3.
    #[word = "pipe"]
    Pipe,
    /// The congestion window, as in Linux: with `validate_window` it is no more than what was in use.
    #[word = "window"]
    Window,
}

/// Whether segments are spread over the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Pacing {
    /// They go out as soon as window and data allow.
    #[word = "never"]
    Never,
    /// At the rate that the congestion control asks for, if it asks for one.
    #[word = "as-asked"]
    AsAsked,
    /// At that rate, or else at a multiple of cwnd / SRTT, as Linux with `SO_MAX_PACING_RATE` or the fq queue.
    #[word = "always"]
    Always,
}

/// Explicit congestion notification: what the ends agree on if both can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Ecn {
    /// None: queues drop.
    #[word = "off"]
    Off,
    /// RFC 3168: one sign of congestion in a round trip.
    #[word = "classic"]
    Classic,
    /// RFC 8257 §3.2: each ACK says whether the packets that it acknowledges were marked.
    #[word = "dctcp"]
    Dctcp,
    /// RFC 9768: each ACK carries a count of marked packets, modulo 8.
    //= exception accurate-ecn-without-option
    #[word = "accurate"]
    Accurate,
}

/// Declares [`Config`], [`Settings`] and the presets from one table: a row is an item, a column a stack.
macro_rules! stacks {
    (
        columns [$($stack:ident),+];
        $(
            $(#[doc = $doc:literal])+
            $field:ident: $type:ty, unit $unit:literal $(, range $range:expr)?, source $source:literal
                => [$($value:expr),+];
        )+
    ) => {
        /// All that a TCP endpoint can be told, resolved.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Config {$(
            $(#[doc = $doc])+
            pub $field: $type,
        )+}

        /// TCP as a scenario states it: a stack, and what differs from it.
        #[derive(Clone, Debug, PartialEq, Params)]
        #[params(source = "RFC 9293", check)]
        pub struct Settings {
            /// The stack whose defaults hold.
            #[param(default = Stack::Linux, unit = "word", source = "servers of today")]
            pub stack: Stack,
            $(
                $(#[doc = $doc])+
                #[param(default = None, unit = $unit $(, range = $range)?, source = $source)]
                pub $field: Option<$type>,
            )+
        }

        impl Config {
            /// Every parameter with its value, in the order of their declaration.
            pub fn entries(&self) -> Vec<(&'static str, serde_json::Value)> {
                vec![$((stringify!($field), airwnd_catalog::Param::to_json(&self.$field))),+]
            }
        }

        impl Stack {
            /// Every stack, in the order of the table's columns.
            pub const ALL: &[Stack] = &[$(Stack::$stack),+];

            /// The defaults of this stack.
            pub fn config(self) -> Config {
                let column = Stack::ALL.iter().position(|stack| *stack == self);
                let column = column.expect("every stack has a column");
                Config {$($field: [$($value),+][column],)+}
            }
        }

        impl Settings {
            /// The stack's defaults with the differences applied.
            pub fn config(&self) -> Config {
                let mut config = self.stack.config();
                $(if let Some(value) = self.$field {
                    config.$field = value;
                })+
                config
            }
        }
    };
}

stacks! {
    columns [Ns2Reno, Ns3v26, Ns3v44, Linux];

    /// Payload bytes of a full segment; options are not deducted from it.
    mss: u16, unit "B", range 64..=65000,
        source "RFC 9293 §3.7.1; ns-2 packetSize_; ns-3 TcpSocket::SegmentSize; \
            Ethernet MTU less 40 and 12 B in Linux"
        => [1000, 536, 536, 1448];
    /// Initial congestion window in segments.
    initial_window: u32, unit "segments", range 1..=1000,
        source "RFC 6928 §2; ns-2 windowInit_; ns-3 TcpSocket::InitialCwnd; Linux TCP_INIT_CWND"
        => [2, 1, 10, 10];
    /// Initial slow-start threshold; without one, slow start ends at the first loss.
    initial_ssthresh: Option<Bytes>, unit "B", range Bytes(1)..=Bytes(1 << 40),
        source "RFC 5681 §3.1; ns-3 TcpSocket::InitialSlowStartThreshold"
        => [None, None, None, None];
    /// Bytes that the application can leave with TCP until they are acknowledged: so many throughout, or with
    /// `send_buffer_autotuning` so many at the most. A sender whose application has more than fits is limited by the
    /// buffer and not by the application.
    send_buffer: Bytes, unit "B", range Bytes(1)..=Bytes(1 << 30),
        source "ns-2 has none; ns-3 TcpSocket::SndBufSize; Linux tcp_wmem (maximum)"
        => [Bytes(1 << 30), Bytes(131_072), Bytes(131_072), Bytes(4 << 20)];
    /// Whether the send buffer grows with the congestion window, of which it holds two (BBR: three), and at least ten
    /// segments of each. It never shrinks.
    send_buffer_autotuning: bool, unit "1",
        source "not in ns-2 and ns-3; Linux 6.18 tcp_sndbuf_expand, tcp_should_expand_sndbuf"
        => [false, false, false, true];
    /// Bytes that TCP holds for the receiving application; no window promises more.
    receive_buffer: Bytes, unit "B", range Bytes(1)..=Bytes(1 << 30),
        source "ns-2 window_ is set by the scenario; ns-3 TcpSocket::RcvBufSize; Linux 6.18 tcp_rmem (maximum)"
        => [Bytes(1 << 30), Bytes(131_072), Bytes(131_072), Bytes(32 << 20)];
    /// Whether windows may be scaled.
    window_scaling: bool, unit "1",
        source "RFC 7323 §2; ns-3 TcpSocketBase::WindowScaling"
        => [true, true, true, true];
    /// Whether timestamps are exchanged.
    timestamps: bool, unit "1",
        source "RFC 7323 §3; ns-2 timestamps_ serve only its own RTT; ns-3 TcpSocketBase::Timestamp"
        => [false, true, true, true];
    /// One tick of the timestamp clock.
    timestamp_tick: Span, unit "time", range Span(1)..=Span::from_secs(1),
        source "RFC 7323 §5.4; ns-3 TcpOptionTS counts milliseconds; Linux TCP_TS_HZ"
        => [Span::from_millis(1), Span::from_millis(1), Span::from_millis(1), Span::from_millis(1)];
    /// Measure round-trip times by the timestamps that come back, in their ticks, rather than by when segments that
    /// were sent once went out.
    rtt_by_timestamps: bool, unit "1",
        source "RFC 7323 §4; ns-3 TcpSocketBase::EstimateRtt; Linux tcp_ack_update_rtt only where all was sent again"
        => [true, true, true, false];
    /// Whether selective acknowledgments are exchanged.
    sack: bool, unit "1",
        source "RFC 2018; ns-3 TcpSocketBase::Sack"
        => [false, false, true, true];
    /// Whether a receiver reports what came twice, in the first block, and a sender believes such reports.
    dsack: bool, unit "1",
        source "RFC 2883; not in ns-2 and ns-3; Linux tcp_dsack"
        => [false, false, false, true];
    /// How losses are found.
    loss_detection: LossDetection, unit "word",
        source "RFC 6675, RFC 8985; not in ns-2 and ns-3; Linux tcp_recovery"
        => [
            LossDetection::Duplicates,
            LossDetection::Duplicates,
            LossDetection::Duplicates,
            LossDetection::Rack
        ];
    /// Whether a probe goes out when no ACK comes, before the retransmission timeout. Needs SACK.
    tail_loss_probe: bool, unit "1",
        source "RFC 8985 §7; not in ns-2 and ns-3; Linux tcp_early_retrans = 3"
        => [false, false, false, true];
    /// What such a probe allows for a delayed ACK, if a single segment is out.
    probe_ack_delay: Span, unit "time", range Span(0)..=Span::from_secs(10),
        source "RFC 8985 §7.2 (TLP.max_ack_delay); Linux tcp_schedule_loss_probe: TCP_RTO_MIN"
        => [
            Span::from_millis(200), Span::from_millis(200), Span::from_millis(200), Span::from_millis(200)
        ];
    /// Whether new data goes out after a timeout, to see if it was spurious; if so, the window is restored.
    frto: bool, unit "1",
        source "RFC 5682; not in ns-2 and ns-3; Linux tcp_frto"
        => [false, false, false, true];
    /// Whether the window is restored when timestamps or D-SACKs show that nothing had been lost.
    undo: bool, unit "1",
        source "RFC 3522, RFC 4015, RFC 3708; not in ns-2 and ns-3; Linux tcp_may_undo"
        => [false, false, false, true];
    /// How a loss is repaired.
    recovery: Recovery, unit "word",
        source "ns-2 Agent/TCP/Reno; ns-3.26 TcpSocketBase; ns-3 TcpPrrRecovery; Linux tcp_cwnd_reduction"
        => [Recovery::Reno, Recovery::NewReno, Recovery::Prr, Recovery::PrrSafe];
    /// With `recovery = "prr"`, credit one segment more for each duplicate ACK, as ns-3.44 does: twice what
    /// was delivered. The flight then comes down late and in one step.
    prr_duplicate_credit: bool, unit "1",
        source "ns-3.44 TcpPrrRecovery::DoRecovery"
        => [false, false, true, false];
    /// With `recovery = "prr"`, multiply delivered bytes and threshold in 32 bits, as ns-3.44 does: once they exceed
    /// 2^32, nothing is sent until the flight is down at the threshold.
    //= exception prr-thirty-two-bits
    prr_wraps: bool, unit "1",
        source "not in RFC 6937; ns-3.44 TcpPrrRecovery::DoRecovery: true"
        => [false, false, false, false];
    /// Whether the ACK that ends fast recovery also grows the window.
    grow_at_exit: bool, unit "1",
        source "RFC 6582 §3.2 step 3 does not; ns-3.44 TcpSocketBase::ProcessAck does"
        => [false, false, true, false];
    /// Tell the congestion control at the end of fast recovery of all that its last ACK covers, though SACKs and
    /// duplicates have reported most of it. Senders that count segments then grow and measure too much; the
    /// presets spare them that.
    //= exception recount-at-recovery-end
    recount_at_exit: bool, unit "1",
        source "not in RFC 5681 or RFC 6675; ns-3.44 TcpSocketBase::ProcessAck: true"
        => [false, false, false, false];
    /// What a loss computes the slow-start threshold from.
    //= exception threshold-from-pipe
    loss_flight: Flight, unit "word",
        source "RFC 5681 §3.1 eq. 4; ns-3 TcpSocketBase::EnterRecovery; Linux tcp_reno_ssthresh"
        => [Flight::Outstanding, Flight::Pipe, Flight::Pipe, Flight::Window];
    /// Count retransmissions that a SACK has reported as still in the network, until they are cumulatively
    /// acknowledged: while another retransmission is missing, less is sent.
    count_sacked_retransmissions: bool, unit "1",
        source "not so in RFC 6675 §4; ns-3.44 TcpTxBuffer::Update"
        => [false, false, true, false];
    /// Duplicate ACKs that mean a loss.
    duplicate_threshold: u32, unit "ACKs", range 1..=1000,
        source "RFC 5681 §3.2; Linux tcp_reordering"
        => [3, 3, 3, 3];
    /// Whether an ACK is a duplicate only if it repeats the window.
    //= exception duplicates-with-any-window
    duplicate_repeats_window: bool, unit "1",
        source "RFC 5681 §2 (e); neither ns-2 nor ns-3 compare windows; Linux FLAG_NOT_DUP"
        => [false, false, false, true];
    /// Whether the first two duplicate ACKs let new data out.
    limited_transmit: bool, unit "1",
        source "RFC 3042; ns-2 singledup_; ns-3 TcpSocketBase::LimitedTransmit, false until 3.29; \
            Linux tcp_limited_transmit is always on"
        => [true, false, true, true];
    /// Restart the retransmission timer on the first partial ACK only, so that a window with many losses
    /// falls back to slow start early ("impatient").
    impatient: bool, unit "1",
        source "RFC 6582 §4; ns-3 TcpSocketBase::ProcessAck; Linux tcp_rearm_rto"
        => [false, true, true, false];
    /// Restart the retransmission timer also when the first unacknowledged segment is sent again.
    retransmission_restarts_timer: bool, unit "1",
        source "not in RFC 6298; Linux tcp_xmit_retransmit_queue"
        => [false, false, false, true];
    /// Full-sized segments after which an ACK is sent at once; 1 acknowledges every segment.
    delayed_ack_count: u32, unit "segments", range 1..=1000,
        source "RFC 5681 §4.2; ns-2 Agent/TCPSink; ns-3 TcpSocket::DelAckCount; Linux __tcp_ack_snd_check"
        => [1, 2, 2, 2];
    /// The longest that an ACK waits.
    delayed_ack_timeout: Span, unit "time", range Span(1)..=Span::from_millis(500),
        source "RFC 5681 §4.2; ns-2 Agent/TCPSink/DelAck; ns-3 TcpSocket::DelAckTimeout; Linux TCP_DELACK_MIN"
        => [Span::from_millis(100), Span::from_millis(200), Span::from_millis(200), Span::from_millis(40)];
    /// The longest that the ACK of a segment out of order waits for others, from the fourth in a row on; zero for none.
    /// It waits no longer than a twentieth of a round trip, and 44 segments end the wait. A sender that measures
    /// delivery rates then finds some too high, as its samples begin with a late ACK.
    sack_compression: Span, unit "time", range Span(0)..=Span::from_millis(100),
        source "not in RFC 5681 §4.2, ns-2 and ns-3; Linux __tcp_ack_snd_check, tcp_comp_sack_delay_ns (1 ms) and \
            tcp_comp_sack_slack_ns (0.1 ms), which Linux 6.18 was measured to use in full"
        => [Span(0), Span(0), Span(0), Span::from_micros(1100)];
    /// Segments at the beginning of a connection that are acknowledged at once, to speed up slow start.
    quick_acks: u32, unit "segments", range 0..=1000,
        source "RFC 5681 §4.2 allows it; ns-3 TcpSocketBase::ProcessSynRcvd, ProcessSynSent; \
            Linux TCP_MAX_QUICKACKS"
        => [0, 1, 1, 16];
    /// Acknowledge as many at once again after a pause longer than the retransmission timeout.
    quick_acks_after_pause: bool, unit "1",
        source "not in ns-2 and ns-3; Linux tcp_event_data_recv"
        => [false, false, false, true];
    /// Retransmission timeout before the first RTT sample.
    //= exception preset-timers
    initial_rto: Span, unit "time", range Span(1)..=Span::from_secs(60),
        source "RFC 6298 §2.1 (1 s), before it RFC 2988 (3 s); ns-2 rtxcur_init_; \
            ns-3 TcpSocket::ConnTimeout; Linux TCP_TIMEOUT_INIT"
        => [Span::from_secs(3), Span::from_secs(3), Span::from_secs(3), Span::from_secs(1)];
    /// Least retransmission timeout.
    min_rto: Span, unit "time", range Span(1)..=Span::from_secs(60),
        source "RFC 6298 §2.4 (1 s); ns-2 minrto_ (0.2 s); ns-3 TcpSocketBase::MinRto; Linux TCP_RTO_MIN"
        => [Span::from_millis(200), Span::from_secs(1), Span::from_secs(1), Span::from_millis(200)];
    /// Greatest retransmission timeout.
    max_rto: Span, unit "time", range Span::from_secs(1)..=Span::from_secs(3600),
        source "RFC 6298 §2.5; ns-3 TcpSocketBase::ReTxTimeout; Linux TCP_RTO_MAX"
        => [Span::from_secs(60), Span::from_secs(60), Span::from_secs(60), Span::from_secs(120)];
    /// Granularity of the clock in the computation of the timeout.
    clock_granularity: Span, unit "time", range Span(1)..=Span::from_secs(1),
        source "RFC 6298 §2; ns-2 tcpTick_; ns-3 TcpSocketBase::ClockGranularity; \
            Linux tcp_rtt_estimator: 4 RTTVAR is at least TCP_RTO_MIN"
        => [Span::from_millis(10), Span::from_millis(1), Span::from_millis(1), Span::from_millis(200)];
    /// Timeouts in a row after which the connection is given up.
    max_retries: u32, unit "1", range 1..=1000,
        source "RFC 9293 §3.8.3; ns-2 never gives up; ns-3 TcpSocket::DataRetries; Linux tcp_retries2"
        => [1000, 6, 6, 15];
    /// The least time between probes of a closed window; it doubles with each.
    persist_timeout: Span, unit "time", range Span(1)..=Span::from_secs(60),
        source "RFC 9293 §3.8.6.1; ns-3 TcpSocket::PersistTimeout; Linux tcp_probe0_base"
        => [Span::from_secs(6), Span::from_secs(6), Span::from_secs(6), Span::from_millis(200)];
    /// Begin to probe after a retransmission timeout, if that is longer.
    probe_after_timeout: bool, unit "1",
        source "RFC 9293 §3.8.6.1; ns-3 TcpSocketBase::m_persistTimeout: false; Linux tcp_probe0_base"
        => [false, false, false, true];
    /// Probe also a window that is open but too small to be used. Without it a sender with nothing in flight
    /// waits until the receiver offers more by itself. ns-3 probes closed windows only, so a receive-window
    /// control that goes below one segment silences the connection for good; its presets probe all the same,
    /// lest that trap be sprung by accident.
    probe_small_windows: bool, unit "1",
        source "RFC 9293 §3.8.6.2.1 (the override timeout); \
            ns-3 TcpSocketBase::SendPendingData, ReceivedAck: false"
        => [true, true, true, true];
    /// Hold back small segments while data is unacknowledged.
    nagle: bool, unit "1",
        source "RFC 9293 §3.7.4; ns-3 TcpSocket::TcpNoDelay is true; \
            Linux tcp_minshall_check holds back only behind another small segment"
        => [false, false, false, false];
    /// Grow the congestion window only when it is what limits the sender.
    //= exception always-growing-window
    validate_window: bool, unit "1",
        source "RFC 7661 §4.3; ns-3's NewReno grows always; Linux tcp_is_cwnd_limited"
        => [false, false, false, true];
    /// Return to the initial window after an idle retransmission timeout.
    restart_after_idle: bool, unit "1",
        source "RFC 5681 §4.1; ns-2 slow_start_restart_ (only for full TCP); not in ns-3; \
            Linux tcp_slow_start_after_idle"
        => [false, false, false, true];
    /// Explicit congestion notification.
    ecn: Ecn, unit "word",
        source "RFC 3168, RFC 8257, RFC 9768; ns-2 ecn_; ns-3 TcpSocketBase::UseEcn; \
            Linux tcp_ecn = 2 answers and does not ask"
        => [Ecn::Off, Ecn::Off, Ecn::Off, Ecn::Off];
    /// Whether segments are paced.
    pacing: Pacing, unit "word",
        source "Linux net/ipv4/tcp_output.c tcp_needs_internal_pacing; ns-3 TcpSocketState::EnablePacing"
        => [Pacing::Never, Pacing::Never, Pacing::AsAsked, Pacing::AsAsked];
    /// With `pacing = "always"`, the multiple of cwnd / SRTT while cwnd is below half the threshold.
    pacing_slow_start: f64, unit "1", range 0.1..=100.0,
        source "Linux Documentation/networking/ip-sysctl.rst tcp_pacing_ss_ratio; \
            ns-3 TcpSocketState::PacingSsRatio"
        => [2.0, 2.0, 2.0, 2.0];
    /// With `pacing = "always"`, the multiple of cwnd / SRTT from there on.
    pacing_avoidance: f64, unit "1", range 0.1..=100.0,
        source "Linux Documentation/networking/ip-sysctl.rst tcp_pacing_ca_ratio; \
            ns-3 TcpSocketState::PacingCaRatio"
        => [1.2, 1.2, 1.2, 1.2];
    /// Maximum segment lifetime: TIME-WAIT lasts twice as long.
    max_segment_lifetime: Span, unit "time", range Span(1)..=Span::from_secs(600),
        source "RFC 9293 §3.4.2; ns-3 TcpSocketBase::MaxSegLifetime; Linux TCP_TIMEWAIT_LEN"
        => [Span::from_secs(120), Span::from_secs(120), Span::from_secs(120), Span::from_secs(30)];
}

impl Settings {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let Config { min_rto, max_rto, .. } = self.config();
        if min_rto > max_rto {
            let key = if self.min_rto.is_some() { "min_rto" } else { "max_rto" };
            return Err((key, format!("the least timeout {min_rto} exceeds the greatest {max_rto}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::{Node, Param};

    #[test]
    fn a_setting_overrides_its_stack_and_nothing_else() {
        let node = Node::from_toml("stack = \"ns3.26\"\nmss = 512\nsack = true", "tcp.toml").unwrap();
        let config = Settings::read(&node).unwrap().config();
        assert_eq!(config, Config { mss: 512, sack: true, ..Stack::Ns3v26.config() });
    }

    #[test]
    fn the_default_is_linux() {
        assert_eq!(Settings::default().config(), Stack::Linux.config());
    }
}
