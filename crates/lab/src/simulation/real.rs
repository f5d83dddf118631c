//! Flows of real packets.

use super::{Flow, Simulation};
use crate::results::columns::{Columns, FlowNumber};
use crate::results::meter::{Meter, Sampled, Spread};
use crate::results::outcome::ConnectionRow;
use crate::results::series::Sample;
use crate::scenario::packet_filter::Protocol;
use crate::scenario::traffic::{Source, Transport, Write};
use airwnd_kernel::Direction;
use airwnd_units::{BitRate, Bytes, Span, Time};

/// State of a real TCP socket, as the kernel reports it (`TCP_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Socket {
    /// Congestion window (cwnd).
    pub cwnd: Bytes,
    /// Slow-start threshold; `None` before it is set.
    pub ssthresh: Option<Bytes>,
    /// Receive window advertised by the peer; `None`: the kernel does not report it.
    pub peer_window: Option<Bytes>,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Smoothed RTT.
    pub srtt: Option<Span>,
    /// Mean deviation of the RTT.
    pub rttvar: Option<Span>,
    /// Minimum RTT.
    pub min_rtt: Option<Span>,
    /// Latest delivery rate.
    pub delivery_rate: Option<BitRate>,
    /// Pacing rate; `None`: the sender does not pace.
    pub pacing_rate: Option<BitRate>,
    /// Receive window advertised to the peer.
    pub window: Option<Bytes>,
    /// Retransmitted segments.
    pub retransmissions: u64,
}

/// A row per sample of a socket of a real flow, at both ends where the kernel reports them.
#[derive(Clone, Copy, Debug, Columns)]
pub(crate) struct SocketRow {
    /// Time from the end of the warm-up.
    #[column(unit = "s")]
    pub time_s: f64,
    /// Id of the flow.
    pub flow: FlowNumber,
    /// Direction in which the socket sends: `down` for a socket of the server, `up` for a socket of the UE.
    pub direction: Direction,
    /// Congestion window (cwnd).
    #[column(unit = "bytes")]
    pub cwnd_bytes: f64,
    /// Slow-start threshold (ssthresh); null before it is set.
    #[column(unit = "bytes")]
    pub ssthresh_bytes: Option<f64>,
    /// Receive window advertised by the peer.
    #[column(unit = "bytes")]
    pub peer_rwnd_bytes: Option<f64>,
    /// Receive window advertised to the peer.
    #[column(unit = "bytes")]
    pub rwnd_bytes: Option<f64>,
    /// Bytes in flight.
    #[column(unit = "bytes")]
    pub in_flight_bytes: f64,
    /// Smoothed RTT.
    #[column(unit = "ms", short = "SRTT", label = "smoothed RTT")]
    pub srtt_ms: Option<f64>,
    /// Mean deviation of the RTT.
    #[column(unit = "ms", short = "RTTVAR")]
    pub rttvar_ms: Option<f64>,
    /// Minimum RTT.
    #[column(unit = "ms", short = "min RTT")]
    pub min_rtt_ms: Option<f64>,
    /// Latest delivery rate.
    #[column(unit = "kbit/s")]
    pub delivery_rate_kbps: Option<f64>,
    /// Pacing rate; null without pacing.
    #[column(unit = "kbit/s")]
    pub pacing_rate_kbps: Option<f64>,
    /// Retransmitted segments so far.
    #[column(range = 0.0..=f64::INFINITY)]
    pub retransmissions: f64,
}

impl SocketRow {
    /// Creates the row of a socket at this time from the end of the warm-up.
    pub fn new(at: Span, flow: u32, direction: Direction, socket: &Socket) -> SocketRow {
        let bytes = |bytes: Bytes| bytes.0 as f64;
        let kbps = |rate: BitRate| rate.0 as f64 / 1e3;
        SocketRow {
            time_s: at.as_secs(),
            flow: FlowNumber(flow),
            direction,
            cwnd_bytes: bytes(socket.cwnd),
            ssthresh_bytes: socket.ssthresh.map(bytes),
            peer_rwnd_bytes: socket.peer_window.map(bytes),
            rwnd_bytes: socket.window.map(bytes),
            in_flight_bytes: bytes(socket.in_flight),
            srtt_ms: socket.srtt.map(Span::as_millis),
            rttvar_ms: socket.rttvar.map(Span::as_millis),
            min_rtt_ms: socket.min_rtt.map(Span::as_millis),
            delivery_rate_kbps: socket.delivery_rate.map(kbps),
            pacing_rate_kbps: socket.pacing_rate.map(kbps),
            retransmissions: socket.retransmissions as f64,
        }
    }
}

/// The part of a flow that only real flows have.
pub(crate) struct Real {
    pub protocol: Protocol,
    /// Addresses and ports of the UE's end and of the server's end.
    pub ends: [String; 2],
    /// Congestion control of the sockets, by the direction in which they send; `None`: unknown, or not TCP.
    pub controls: [Option<String>; 2],
    /// Measurements in the direction with less payload; [`Flow::meter`] has the other direction.
    pub reverse: Meter,
    reverse_sampled: Sampled,
    /// Latest state of the sockets, by the direction in which they send.
    pub sockets: [Option<Socket>; 2],
    /// Segments sent that contained bytes sent before, by direction.
    pub retransmissions: [u64; 2],
    /// Set if no packets follow: the flow is over when none is in the network.
    pub is_over: bool,
}

impl Real {
    pub fn new(protocol: Protocol, ends: [String; 2], budget: Option<Span>) -> Real {
        Real {
            protocol,
            ends,
            controls: [None, None],
            reverse: Meter::new(Spread::new(), Spread::new(), budget),
            reverse_sampled: Sampled::default(),
            sockets: [None; 2],
            retransmissions: [0; 2],
            is_over: false,
        }
    }

    /// Adds the state of the socket that sends the data to a sample.
    pub fn sample(&self, data: Direction, sample: &mut Sample) {
        let Some(socket) = &self.sockets[data as usize] else { return };
        let number = |bytes: Bytes| bytes.0 as f64;
        sample.cwnd_bytes = Some(number(socket.cwnd));
        sample.ssthresh_bytes = socket.ssthresh.map(number);
        sample.rwnd_bytes = socket.peer_window.map(number);
        sample.in_flight_bytes = Some(number(socket.in_flight));
        sample.rtt_ms = socket.srtt.map(Span::as_millis);
    }
}

impl Flow {
    /// The direction with more payload so far.
    pub(super) fn data_direction(&self) -> Direction {
        let turns = self.real.as_ref().is_some_and(|real| real.reverse.payload > self.meter.payload);
        if turns { self.direction.reverse() } else { self.direction }
    }

    /// Sets the direction of the data of a real flow to that with more payload so far. Returns whether it changed.
    pub(super) fn face_the_data(&mut self) -> bool {
        let turns = self.data_direction() != self.direction;
        let Some(real) = &mut self.real else { return false };
        if turns {
            std::mem::swap(&mut self.meter, &mut real.reverse);
            std::mem::swap(&mut self.sampled, &mut real.reverse_sampled);
            self.meter.started = real.reverse.started;
            self.direction = self.direction.reverse();
        }
        let Real { reverse, reverse_sampled, .. } = &mut **real;
        reverse_sampled.note(reverse);
        turns
    }
}

impl Simulation<'_> {
    /// Returns whether the simulated flows of a UE are left out because real programs replace them.
    pub(super) fn is_replaced(&self, ue: u32) -> bool {
        self.real_ues.iter().any(|real| real.ue == ue && !real.keeps_flows)
    }

    /// Rows of the connections of real flows.
    pub(super) fn connection_rows(&self) -> Vec<ConnectionRow> {
        let row = |(number, flow): (usize, &Flow)| {
            let real = flow.real.as_ref()?;
            let group = &self.groups[flow.group as usize];
            let [ue_end, server_end] = real.ends.clone();
            Some(ConnectionRow {
                flow: format!("{}-{}", group.id, number as u32 - group.first),
                protocol: real.protocol.word().into(),
                ue_end,
                server_end,
                start_s: flow.meter.started.unwrap_or(self.begin).since(self.begin).as_secs(),
            })
        };
        self.flows.iter().enumerate().filter_map(row).collect()
    }
}

/// The source of a real flow: its packets come from outside.
pub(super) struct Outside(pub Protocol);

impl Source for Outside {
    fn transport(&self) -> Transport {
        match self.0 {
            Protocol::Tcp => Transport::Tcp,
            Protocol::Udp | Protocol::Icmp | Protocol::Other => Transport::Udp,
        }
    }

    fn write(&mut self, now: Time) -> Write {
        unreachable!("nothing is written at {now}: no event of a real flow is scheduled")
    }
}
