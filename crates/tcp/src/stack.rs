//! Stacks: default TCP parameters of TCP implementations, as one table.

use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span};

/// The TCP implementation whose defaults apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Stack {
    /// One-way Reno agent and sink of ns-2: no SACK, no timestamps, an ACK for every packet.
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

/// Loss recovery after a fast retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Recovery {
    /// RFC 5681 §3.2: the first ACK of new data ends fast recovery.
    #[word = "reno"]
    Reno,
    /// RFC 6582: partial ACKs continue fast recovery; with SACK this is RFC 6675.
    #[word = "newreno"]
    NewReno,
    /// RFC 6937: as `newreno`, with bytes in flight reduced in proportion to delivered data.
    #[word = "prr"]
    Prr,
    /// RFC 9937: as `prr`; below ssthresh faster growth while ACKs of new data indicate no further loss.
    #[word = "prr-safe-ack"]
    PrrSafe,
}

/// Loss detection before the retransmission timeout. Without SACK, duplicate ACKs are used in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum LossDetection {
    /// A threshold number of duplicate ACKs, or of SACKed segments above (RFC 5681, RFC 6675).
    #[word = "duplicates"]
    Duplicates,
    /// Transmission at least an RTT plus the reordering window before a segment that was delivered (RFC 8985, RACK).
    #[word = "rack"]
    Rack,
}

/// Quantity from which a loss computes the new ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Flight {
    /// All bytes sent and not cumulatively acknowledged (RFC 5681 §2).
    #[word = "outstanding"]
    Outstanding,
    /// Bytes estimated to be in the network (RFC 6675 §2 "pipe"), as in ns-3.
    #[word = "pipe"]
    Pipe,
    /// The congestion window, as in Linux; with `validate_window` it does not exceed the window in use.
    #[word = "window"]
    Window,
}

/// Pacing of segments over the RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Pacing {
    /// No pacing: segments are sent as soon as window and data allow.
    #[word = "never"]
    Never,
    /// At the rate of the congestion control, if it sets one.
    #[word = "as-asked"]
    AsAsked,
    /// At the rate of the congestion control, otherwise at a multiple of cwnd / SRTT, as Linux with
    /// `SO_MAX_PACING_RATE` or the fq queue.
    #[word = "always"]
    Always,
}

/// Observation that decides whether cwnd limits the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum WindowUse {
    /// The bytes in flight before the ACK left no room for another segment (RFC 7661 §4.1, cwnd-limited).
    #[word = "at-ack"]
    AtAck,
    /// The bytes in flight after the last segment sent left no room for another one, as in ns-3.44.
    #[word = "at-last-segment"]
    AtLastSegment,
    /// As in Linux, remembered for a window of data: in it a transmission left no room for another segment or, in slow
    /// start, cwnd is below twice the maximum of the bytes outstanding after a transmission.
    #[word = "per-window"]
    PerWindow,
}

/// Explicit congestion notification: the feedback to negotiate, used if both ends support it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Ecn {
    /// No ECN: queues drop.
    #[word = "off"]
    Off,
    /// RFC 3168: at most one congestion signal per RTT.
    #[word = "classic"]
    Classic,
    /// RFC 8257 §3.2: each ACK states whether the packets that it acknowledges were marked.
    #[word = "dctcp"]
    Dctcp,
    /// RFC 9768: each ACK carries the number of marked packets, modulo 8.
    //= exception accurate-ecn-without-option
    #[word = "accurate"]
    Accurate,
}

impl Ecn {
    /// Returns true if the feedback tells how many packets were marked, not only that some were.
    pub fn counts_marks(self) -> bool {
        matches!(self, Ecn::Dctcp | Ecn::Accurate)
    }
}

/// Declares [`Config`], [`Settings`], [`Overrides`] and the presets from one table: one row per parameter, one column
/// per stack.
macro_rules! stacks {
    (
        columns [$($stack:ident),+];
        $(
            $(#[doc = $doc:literal])+
            $field:ident: $type:ty $(, level $level:ident)?, unit $unit:literal $(, range $range:expr)?, source $source:literal
                => [$($value:expr),+];
        )+
        quirks
        $(
            $(#[doc = $quirk_doc:literal])+
            $quirk:ident: $quirk_type:ty, unit $quirk_unit:literal, source $quirk_source:literal
                => [$($quirk_value:expr),+];
        )+
    ) => {
        /// Complete TCP parameters of an endpoint.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Config {$(
            $(#[doc = $doc])+
            pub $field: $type,
        )+
            /// Behaviour that exists only because this TCP implementation has it.
            pub quirks: Quirks,
        }

        /// Quirks of a TCP implementation. A stack sets them, not a scenario.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Quirks {$(
            $(#[doc = $quirk_doc])+
            pub $quirk: $quirk_type,
        )+}

        /// Quirks that differ from the stack's; `none`: as the stack's.
        #[derive(Clone, Debug, PartialEq, Params)]
        #[params(source = "ns-3 TcpSocketBase")]
        pub struct OtherQuirks {$(
            $(#[doc = $quirk_doc])+
            #[param(basic, default = None, unit = $quirk_unit, source = $quirk_source)]
            pub $quirk: Option<$quirk_type>,
        )+}

        /// TCP parameters: a stack, and parameters that differ from its defaults.
        #[derive(Clone, Debug, PartialEq, Params)]
        #[params(source = "RFC 9293", check)]
        pub struct Settings {
            /// Stack whose defaults apply.
            #[param(basic, default = Stack::Linux, unit = "word", source = "current servers")]
            pub stack: Stack,
            $(
                $(#[doc = $doc])+
                #[param($($level,)? default = None, unit = $unit $(, range = $range)?, source = $source)]
                pub $field: Option<$type>,
            )+
            /// Quirks that differ from the stack's.
            #[param(quirks)]
            pub quirks: OtherQuirks,
        }

        /// TCP parameters of a group of flows, where they differ from those of the scenario (`[tcp]`). A `stack` replaces
        /// the scenario's; parameters that `[tcp]` sets still apply, unless they are set here as well.
        #[derive(Clone, Debug, PartialEq, Params)]
        #[params(source = "RFC 9293")]
        pub struct Overrides {
            /// Stack whose defaults apply.
            #[param(basic, default = None, unit = "word", source = "airwnd")]
            pub stack: Option<Stack>,
            $(
                $(#[doc = $doc])+
                #[param($($level,)? default = None, unit = $unit $(, range = $range)?, source = $source)]
                pub $field: Option<$type>,
            )+
            /// Quirks that differ from the stack's.
            #[param(quirks)]
            pub quirks: OtherQuirks,
        }

        impl Config {
            /// Returns every parameter with its value, in declaration order.
            pub fn entries(&self) -> Vec<(&'static str, serde_json::Value)> {
                vec![$((stringify!($field), airwnd_catalog::Param::to_json(&self.$field))),+]
            }
        }

        impl Quirks {
            /// Returns every quirk with its value, in declaration order.
            pub fn entries(&self) -> Vec<(&'static str, serde_json::Value)> {
                vec![$((stringify!($quirk), airwnd_catalog::Param::to_json(&self.$quirk))),+]
            }
        }

        impl Stack {
            /// All stacks, in the order of the table's columns.
            pub const ALL: &[Stack] = &[$(Stack::$stack),+];

            /// Returns the defaults of this stack.
            pub fn config(self) -> Config {
                let column = Stack::ALL.iter().position(|stack| *stack == self);
                let column = column.expect("every stack has a column");
                let quirks = Quirks {$($quirk: [$($quirk_value),+][column],)+};
                Config {$($field: [$($value),+][column],)+ quirks}
            }
        }

        impl Settings {
            /// Returns these settings with the parameters that `own` sets.
            pub(crate) fn with(&self, own: &Overrides) -> Settings {
                Settings {
                    stack: own.stack.unwrap_or(self.stack),
                    $($field: own.$field.or(self.$field),)+
                    quirks: self.quirks.clone(),
                }
            }

            /// Returns the stack's defaults with the differences applied.
            pub fn config(&self) -> Config {
                let mut config = self.stack.config();
                $(if let Some(value) = self.$field {
                    config.$field = value;
                })+
                $(if let Some(value) = self.quirks.$quirk {
                    config.quirks.$quirk = value;
                })+
                config
            }
        }
    };
}

stacks! {
    columns [Ns2Reno, Ns3v26, Ns3v44, Linux];

    /// Payload bytes of a full segment; options are not deducted.
    mss: u16, level basic, unit "B", range 64..=65000,
        source "RFC 9293 §3.7.1; ns-2 packetSize_; ns-3 TcpSocket::SegmentSize; \
            Linux: Ethernet MTU minus 40 and 12 B"
        => [1000, 536, 536, 1448];
    /// Initial congestion window in segments.
    initial_window: u32, level basic, unit "segments", range 1..=1000,
        source "RFC 6928 §2; ns-2 windowInit_; ns-3 TcpSocket::InitialCwnd; Linux TCP_INIT_CWND"
        => [2, 1, 10, 10];
    /// Initial ssthresh; `none`: slow start ends at the first congestion event.
    initial_ssthresh: Option<Bytes>, unit "B", range Bytes(1)..=Bytes(1 << 40),
        source "RFC 5681 §3.1; ns-3 TcpSocket::InitialSlowStartThreshold"
        => [None, None, None, None];
    /// Capacity of the send buffer, which holds written data until it is acknowledged; with `send_buffer_autotuning`
    /// its maximum. A sender whose application has more data than fits counts as limited by the send buffer, not by the
    /// application.
    send_buffer: Bytes, level basic, unit "B", range Bytes(1)..=Bytes(1 << 30),
        source "ns-2 has none; ns-3 TcpSocket::SndBufSize; Linux tcp_wmem (maximum)"
        => [Bytes(1 << 30), Bytes(131_072), Bytes(131_072), Bytes(4 << 20)];
    /// The send buffer counts memory, as in Linux: payload and 832 B for each socket buffer. An application that found it
    /// full writes again when a third is free.
    send_buffer_in_memory: bool, level expert, unit "1",
        source "not in ns-2 and ns-3; Linux 6.18 sk_stream_memory_free, sk_stream_is_writeable, \
            tcp_stream_alloc_skb on x86-64"
        => [false, false, false, true];
    /// Segmentation offload: a socket buffer has as many segments as Linux sends at a time, at least two and at most
    /// 64 KiB; otherwise one. Counts with `send_buffer_in_memory` only: segments are sent one by one.
    segmentation_offload: bool, level expert, unit "1",
        source "not in ns-2 and ns-3; Linux 6.18 tcp_tso_autosize (GSO is on by default)"
        => [false, false, false, true];
    /// Send buffer autotuning: the buffer grows to two congestion windows (BBR: three), each of at least ten segments.
    /// It never shrinks. With `send_buffer_in_memory` each segment counts as a socket buffer (2304 B for 1448 B).
    send_buffer_autotuning: bool, unit "1",
        source "not in ns-2 and ns-3; Linux 6.18 tcp_sndbuf_expand, tcp_should_expand_sndbuf"
        => [false, false, false, true];
    /// Capacity of the receive buffer; no advertised window exceeds it.
    receive_buffer: Bytes, level basic, unit "B", range Bytes(1)..=Bytes(1 << 30),
        source "ns-2 window_ is set by the scenario; ns-3 TcpSocket::RcvBufSize; Linux 6.18 tcp_rmem (maximum)"
        => [Bytes(1 << 30), Bytes(131_072), Bytes(131_072), Bytes(32 << 20)];
    /// Window scaling.
    window_scaling: bool, unit "1",
        source "RFC 7323 §2; ns-3 TcpSocketBase::WindowScaling"
        => [true, true, true, true];
    /// Timestamps option.
    timestamps: bool, unit "1",
        source "RFC 7323 §3; ns-2 timestamps_ serve only its own RTT; ns-3 TcpSocketBase::Timestamp"
        => [false, true, true, true];
    /// Tick of the timestamp clock.
    timestamp_tick: Span, level expert, unit "time", range Span(1)..=Span::from_secs(1),
        source "RFC 7323 §5.4; ns-3 TcpOptionTS counts milliseconds; Linux TCP_TS_HZ"
        => [Span::from_millis(1), Span::from_millis(1), Span::from_millis(1), Span::from_millis(1)];
    /// Acceptance of ACKs that others have overtaken: a timestamp may be one tick older than the newest, and that of an
    /// ACK without data, news and a larger window older by up to an RTO. Otherwise they are refused, with the SACK blocks
    /// that only they carry.
    accept_late_acks: bool, level expert, unit "1",
        source "not in RFC 7323 §5.3; Linux TCP_PAWS_WINDOW, tcp_disordered_ack"
        => [false, false, false, true];
    /// RTT measurement by echoed timestamps, in ticks, instead of by transmission times of segments sent once.
    rtt_by_timestamps: bool, level expert, unit "1",
        source "RFC 7323 §4; ns-3 TcpSocketBase::EstimateRtt; Linux tcp_ack_update_rtt only if all were resent"
        => [true, true, true, false];
    /// Selective acknowledgments (SACK).
    sack: bool, level basic, unit "1",
        source "RFC 2018; ns-3 TcpSocketBase::Sack"
        => [false, false, true, true];
    /// Duplicate SACK: the receiver reports duplicates in the first block, and the sender evaluates such reports.
    dsack: bool, unit "1",
        source "RFC 2883; not in ns-2 and ns-3; Linux tcp_dsack"
        => [false, false, false, true];
    /// Loss detection.
    loss_detection: LossDetection, unit "word",
        source "RFC 6675, RFC 8985; not in ns-2 and ns-3; Linux tcp_recovery"
        => [
            LossDetection::Duplicates,
            LossDetection::Duplicates,
            LossDetection::Duplicates,
            LossDetection::Rack
        ];
    /// Tail loss probe when no ACK arrives, before the retransmission timeout. Needs SACK.
    tail_loss_probe: bool, unit "1",
        source "RFC 8985 §7; not in ns-2 and ns-3; Linux tcp_early_retrans = 3"
        => [false, false, false, true];
    /// Allowance of a tail loss probe's timeout for a delayed ACK, if a single segment is outstanding.
    probe_ack_delay: Span, level expert, unit "time", range Span(0)..=Span::from_secs(10),
        source "RFC 8985 §7.2 (TLP.max_ack_delay); Linux tcp_schedule_loss_probe: TCP_RTO_MIN"
        => [
            Span::from_millis(200), Span::from_millis(200), Span::from_millis(200), Span::from_millis(200)
        ];
    /// Forward RTO-recovery: new data is sent after a timeout, to detect a spurious one; the window is then restored.
    frto: bool, unit "1",
        source "RFC 5682; not in ns-2 and ns-3; Linux tcp_frto"
        => [false, false, false, true];
    /// Restoration of the window when timestamps or D-SACKs show that no segment had been lost.
    undo: bool, unit "1",
        source "RFC 3522, RFC 4015, RFC 3708; not in ns-2 and ns-3; Linux tcp_may_undo"
        => [false, false, false, true];
    /// Loss recovery.
    recovery: Recovery, unit "word",
        source "ns-2 Agent/TCP/Reno; ns-3.26 TcpSocketBase; ns-3 TcpPrrRecovery; Linux tcp_cwnd_reduction"
        => [Recovery::Reno, Recovery::NewReno, Recovery::Prr, Recovery::PrrSafe];
    /// Window growth on every ACK that reports new arrivals, once a segment has arrived after one that was sent at least
    /// `duplicate_threshold` segments later. Otherwise the window grows on ACKs in order only, so that on a path that
    /// reorders all the time it hardly grows.
    grow_when_reordered: bool, level expert, unit "1",
        source "not in RFC 5681; Linux tcp_may_raise_cwnd, tcp_check_sack_reordering"
        => [false, false, false, true];
    /// Quantity from which a loss computes ssthresh.
    //= exception threshold-from-pipe
    loss_flight: Flight, level expert, unit "word",
        source "RFC 5681 §3.1 eq. 4; ns-3 TcpSocketBase::EnterRecovery; Linux tcp_reno_ssthresh"
        => [Flight::Outstanding, Flight::Pipe, Flight::Pipe, Flight::Window];
    /// Duplicate ACKs that indicate a loss.
    duplicate_threshold: u32, unit "ACKs", range 1..=1000,
        source "RFC 5681 §3.2; Linux tcp_reordering"
        => [3, 3, 3, 3];
    /// Duplicate ACKs must repeat the advertised window.
    //= exception duplicates-with-any-window
    duplicate_repeats_window: bool, level expert, unit "1",
        source "RFC 5681 §2 (e); not compared in ns-2 and ns-3; Linux FLAG_NOT_DUP"
        => [false, false, false, true];
    /// Limited transmit: the first two duplicate ACKs each allow a segment of new data.
    limited_transmit: bool, unit "1",
        source "RFC 3042; ns-2 singledup_; ns-3 TcpSocketBase::LimitedTransmit, false until 3.29; \
            Linux tcp_limited_transmit is always on"
        => [true, false, true, true];
    /// Restart of the retransmission timer on the first partial ACK only ("impatient" variant), so that a window with
    /// many losses returns to slow start early.
    impatient: bool, level expert, unit "1",
        source "RFC 6582 §4; ns-3 TcpSocketBase::ProcessAck; Linux tcp_rearm_rto"
        => [false, true, true, false];
    /// Restart of the retransmission timer also when the first unacknowledged segment is retransmitted.
    retransmission_restarts_timer: bool, level expert, unit "1",
        source "not in RFC 6298; Linux tcp_xmit_retransmit_queue"
        => [false, false, false, true];
    /// Full-sized segments per ACK; 1: every segment is acknowledged at once.
    delayed_ack_count: u32, level basic, unit "segments", range 1..=1000,
        source "RFC 5681 §4.2; ns-2 Agent/TCPSink; ns-3 TcpSocket::DelAckCount; Linux __tcp_ack_snd_check"
        => [1, 2, 2, 2];
    /// Maximum delay of an ACK.
    delayed_ack_timeout: Span, unit "time", range Span(1)..=Span::from_millis(500),
        source "RFC 5681 §4.2; ns-2 Agent/TCPSink/DelAck; ns-3 TcpSocket::DelAckTimeout; Linux TCP_DELACK_MIN"
        => [Span::from_millis(100), Span::from_millis(200), Span::from_millis(200), Span::from_millis(40)];
    /// SACK compression: maximum delay of the ACK of an out-of-order segment, from the fourth in a row; zero: none. The
    /// delay is at most a twentieth of the RTT and ends after 44 segments. Delivery rate samples that begin with a
    /// delayed ACK overestimate the rate.
    sack_compression: Span, unit "time", range Span(0)..=Span::from_millis(100),
        source "not in RFC 5681 §4.2, ns-2 and ns-3; Linux __tcp_ack_snd_check, tcp_comp_sack_delay_ns (1 ms) and \
            tcp_comp_sack_slack_ns (0.1 ms), which Linux 6.18 was measured to use in full"
        => [Span(0), Span(0), Span(0), Span::from_micros(1100)];
    /// Segments at the start of a connection that are acknowledged at once, to speed up slow start.
    quick_acks: u32, unit "segments", range 0..=1000,
        source "RFC 5681 §4.2 allows it; ns-3 TcpSocketBase::ProcessSynRcvd, ProcessSynSent; \
            Linux TCP_MAX_QUICKACKS"
        => [0, 1, 1, 16];
    /// The same number of immediate ACKs again after a pause longer than the retransmission timeout.
    quick_acks_after_pause: bool, level expert, unit "1",
        source "not in ns-2 and ns-3; Linux tcp_event_data_recv"
        => [false, false, false, true];
    /// ACK division by a misbehaving receiver: number of ACKs for the data of each segment, each of an equal part.
    /// Unless it is 1, each segment is acknowledged at once.
    ack_division: u32, level expert, unit "ACKs", range 1..=1000,
        source "Savage et al., ACM CCR 29(5), 1999; RFC 5681 §3.1 and RFC 3465 §2 are the senders' answer"
        => [1, 1, 1, 1];
    /// Spoofed duplicate ACKs by a misbehaving receiver: duplicates that follow the ACK of each segment. Unless it is 0,
    /// each segment is acknowledged at once. With SACK a duplicate that reports no new data has no effect.
    spoofed_duplicate_acks: u32, level expert, unit "ACKs", range 0..=1000,
        source "Savage et al., ACM CCR 29(5), 1999; RFC 5681 §3.2 step 4"
        => [0, 0, 0, 0];
    /// Optimistic ACKs by a misbehaving receiver: maximum bytes that it acknowledges beyond the data received. It
    /// conceals losses: missing data is given up, and never counts as received. Senders ignore ACKs of data that they
    /// have not sent; when such a sender repeats data, the lead begins again at zero. It grows by the data received. Unless
    /// the maximum is 0, each segment is acknowledged at once.
    optimistic_acks: Bytes, level expert, unit "B", range Bytes(0)..=Bytes(1 << 30),
        source "Savage et al., ACM CCR 29(5), 1999; RFC 5961 §5 is the limit"
        => [Bytes(0), Bytes(0), Bytes(0), Bytes(0)];
    /// Retransmission timeout before the first RTT sample.
    //= exception preset-timers
    initial_rto: Span, unit "time", range Span(1)..=Span::from_secs(60),
        source "RFC 6298 §2.1 (1 s), formerly RFC 2988 (3 s); ns-2 rtxcur_init_; \
            ns-3 TcpSocket::ConnTimeout; Linux TCP_TIMEOUT_INIT"
        => [Span::from_secs(3), Span::from_secs(3), Span::from_secs(3), Span::from_secs(1)];
    /// Minimum retransmission timeout.
    min_rto: Span, unit "time", range Span(1)..=Span::from_secs(60),
        source "RFC 6298 §2.4 (1 s); ns-2 minrto_ (0.2 s); ns-3 TcpSocketBase::MinRto; Linux TCP_RTO_MIN"
        => [Span::from_millis(200), Span::from_secs(1), Span::from_secs(1), Span::from_millis(200)];
    /// Maximum retransmission timeout.
    max_rto: Span, unit "time", range Span::from_secs(1)..=Span::from_secs(3600),
        source "RFC 6298 §2.5; ns-3 TcpSocketBase::ReTxTimeout; Linux TCP_RTO_MAX"
        => [Span::from_secs(60), Span::from_secs(60), Span::from_secs(60), Span::from_secs(120)];
    /// Clock granularity in the computation of the retransmission timeout.
    clock_granularity: Span, level expert, unit "time", range Span(1)..=Span::from_secs(1),
        source "RFC 6298 §2; ns-2 tcpTick_; ns-3 TcpSocketBase::ClockGranularity; \
            Linux tcp_rtt_estimator: 4 RTTVAR is at least TCP_RTO_MIN"
        => [Span::from_millis(10), Span::from_millis(1), Span::from_millis(1), Span::from_millis(200)];
    /// Consecutive timeouts after which the connection is aborted.
    max_retries: u32, unit "1", range 1..=1000,
        source "RFC 9293 §3.8.3; unlimited in ns-2; ns-3 TcpSocket::DataRetries; Linux tcp_retries2"
        => [1000, 6, 6, 15];
    /// Initial interval between probes of a closed window; doubles with each probe.
    persist_timeout: Span, level expert, unit "time", range Span(1)..=Span::from_secs(60),
        source "RFC 9293 §3.8.6.1; ns-3 TcpSocket::PersistTimeout; Linux tcp_probe0_base"
        => [Span::from_secs(6), Span::from_secs(6), Span::from_secs(6), Span::from_millis(200)];
    /// First window probe after a retransmission timeout, if that is longer than `persist_timeout`.
    probe_after_timeout: bool, level expert, unit "1",
        source "RFC 9293 §3.8.6.1; ns-3 TcpSocketBase::m_persistTimeout: false; Linux tcp_probe0_base"
        => [false, false, false, true];
    /// Nagle's algorithm: small segments wait while data is unacknowledged.
    nagle: bool, unit "1",
        source "RFC 9293 §3.7.4; ns-3 TcpSocket::TcpNoDelay is true; \
            Linux tcp_minshall_check holds back only behind another small segment"
        => [false, false, false, false];
    /// Congestion window validation: cwnd grows only while it limits the sender. CUBIC, among others, observes this in
    /// any case.
    //= exception always-growing-window
    validate_window: bool, unit "1",
        source "RFC 7661 §4.3; ns-2 control_increase_ = 0; ns-3.44 TcpCubic and TcpLinuxReno only; \
            Linux tcp_is_cwnd_limited"
        => [false, false, false, true];
    /// Observation that decides whether cwnd limits the sender.
    //= exception window-use-in-bytes
    window_use: WindowUse, level expert, unit "word",
        source "RFC 7661 §4.1; no rule in ns-2 and ns-3.26; ns-3.44 TcpSocketBase::SendDataPacket; \
            Linux 6.18 tcp_cwnd_validate, tcp_is_cwnd_limited"
        => [WindowUse::AtAck, WindowUse::AtAck, WindowUse::AtLastSegment, WindowUse::PerWindow];
    /// Return to the initial window after an idle time longer than the retransmission timeout.
    restart_after_idle: bool, unit "1",
        source "RFC 5681 §4.1; ns-2 slow_start_restart_ (only for full TCP); not in ns-3; \
            Linux tcp_slow_start_after_idle"
        => [false, false, false, true];
    /// With `restart_after_idle`, Linux's restart: cwnd in whole segments is halved once for each retransmission timeout
    /// of the idle time, down to the initial window, and ssthresh becomes at least three quarters of cwnd before. Only
    /// data written while nothing was outstanding restarts, not data that waited for the receiver's window.
    restart_by_halving: bool, level expert, unit "1",
        source "not in RFC 5681 §4.1 (RFC 2861 §3.1); Linux 6.18 tcp_cwnd_restart, tcp_current_ssthresh"
        => [false, false, false, true];
    /// Explicit congestion notification. Flows whose congestion control needs it (`dctcp`, `prague`) request the feedback
    /// that they need if this is not set.
    ecn: Ecn, level basic, unit "word",
        source "RFC 3168, RFC 8257, RFC 9768; ns-2 ecn_; ns-3 TcpSocketBase::UseEcn; \
            Linux tcp_ecn = 2 accepts requests and makes none, but for TCP_CONG_NEEDS_ECN"
        => [Ecn::Off, Ecn::Off, Ecn::Off, Ecn::Off];
    /// Pacing.
    pacing: Pacing, level basic, unit "word",
        source "Linux net/ipv4/tcp_output.c tcp_needs_internal_pacing; ns-3 TcpSocketState::EnablePacing"
        => [Pacing::Never, Pacing::Never, Pacing::AsAsked, Pacing::AsAsked];
    /// With `pacing = "always"`, multiple of cwnd / SRTT while cwnd is below half of ssthresh.
    pacing_slow_start: f64, unit "1", range 0.1..=100.0,
        source "Linux Documentation/networking/ip-sysctl.rst tcp_pacing_ss_ratio; \
            ns-3 TcpSocketState::PacingSsRatio"
        => [2.0, 2.0, 2.0, 2.0];
    /// With `pacing = "always"`, multiple of cwnd / SRTT once cwnd is at least half of ssthresh.
    pacing_avoidance: f64, unit "1", range 0.1..=100.0,
        source "Linux Documentation/networking/ip-sysctl.rst tcp_pacing_ca_ratio; \
            ns-3 TcpSocketState::PacingCaRatio"
        => [1.2, 1.2, 1.2, 1.2];
    /// A segment sent after its pacing time shortens the wait for the next one by the delay, at most by half, from the
    /// tenth data segment on.
    pacing_credit: bool, level expert, unit "1",
        source "not in ns-3 TcpSocketBase::NotifyPacingPerformed; Linux 6.18 tcp_update_skb_after_send"
        => [false, false, false, true];
    /// Maximum segment lifetime; TIME-WAIT lasts twice as long.
    max_segment_lifetime: Span, level expert, unit "time", range Span(1)..=Span::from_secs(600),
        source "RFC 9293 §3.4.2; ns-3 TcpSocketBase::MaxSegLifetime; Linux TCP_TIMEWAIT_LEN"
        => [Span::from_secs(120), Span::from_secs(120), Span::from_secs(120), Span::from_secs(30)];

quirks
    /// The first SACK block joins the segment with those of the last four reported blocks that it touches, instead of
    /// with all data that it touches; it may then be shorter, and older parts of the same data are reported again.
    sack_from_list: bool, unit "1",
        source "ns-3.44 TcpRxBuffer::UpdateSackList"
        => [false, false, true, false];
    /// With `recovery = "prr"`, one more segment of credit for each duplicate ACK: twice what was
    /// delivered. Bytes in flight then decrease late and in one step.
    prr_duplicate_credit: bool, unit "1",
        source "ns-3.44 TcpPrrRecovery::DoRecovery"
        => [false, false, true, false];
    /// With `recovery = "prr"`, 32-bit product of delivered bytes and ssthresh: once it exceeds 2^32,
    /// nothing is sent until bytes in flight have fallen to ssthresh.
    //= exception prr-thirty-two-bits
    prr_wraps: bool, unit "1",
        source "ns-3.44 TcpPrrRecovery::DoRecovery"
        => [false, false, true, false];
    /// Window growth on the ACK that ends fast recovery (not in RFC 6582 §3.2 step 3).
    grow_at_exit: bool, unit "1",
        source "ns-3.44 TcpSocketBase::ProcessAck"
        => [false, false, true, false];
    /// At the end of fast recovery, report all data covered by the last ACK to the congestion control, although SACKs
    /// and duplicate ACKs have reported most of it. Congestion controls that count segments then grow too fast and
    /// overestimate rates. After a timeout, report only what the last ACK covers beyond the
    /// data sent before it, which is usually nothing.
    //= exception recount-at-recovery-end
    recount_at_exit: bool, unit "1",
        source "ns-3.44 TcpSocketBase::ProcessAck"
        => [false, false, true, false];
    /// SACKed retransmissions count as bytes in flight until they are cumulatively acknowledged; while another
    /// retransmission is missing, the sender sends less.
    count_sacked_retransmissions: bool, unit "1",
        source "ns-3.44 TcpTxBuffer::Update"
        => [false, false, true, false];
    /// Probes also of a window that is open but too small to use (RFC 9293 §3.8.6.2.1, the override timeout). Without
    /// them a sender with nothing in flight waits until the receiver advertises more by itself: a receive-window control
    /// that goes below one segment stalls the connection permanently. So it would in ns-3.44, too, whose stack probes
    /// here to avoid such stalls by accident.
    probe_small_windows: bool, unit "1",
        source "ns-3.26 TcpSocketBase::SendPendingData, ReceivedAck: false"
        => [true, false, true, true];
    /// Without SACK every duplicate ACK counts as a delivered segment, also if there are more of them than outstanding
    /// segments.
    presumes_beyond: bool, unit "1",
        source "ns-3.26 TcpWestwood::CountAck; Linux tcp_input.c, tcp_limit_reno_sacked: false"
        => [true, true, true, false];
}

impl Settings {
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        let Config { min_rto, max_rto, .. } = self.config();
        if min_rto > max_rto {
            let key = if self.min_rto.is_some() { "min_rto" } else { "max_rto" };
            return Err((key, format!("the minimum timeout {min_rto} exceeds the maximum {max_rto}")));
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
