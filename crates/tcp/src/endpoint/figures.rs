//! Counters and estimates of an endpoint, for its owner.

use super::{Endpoint, Failure, State};
use crate::cc;
use crate::sender::limit::Limited;
use airwnd_units::{Bytes, Span, Time};

/// Counters of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Segments received, of any kind.
    pub segments_received: u64,
    /// Segments with payload sent, including retransmissions.
    pub data_segments_sent: u64,
    /// Segments with payload received.
    pub data_segments_received: u64,
    /// Segments sent without payload, SYN, FIN or RST.
    pub acks_sent: u64,
    /// Payload bytes sent, without retransmissions.
    pub bytes_sent: Bytes,
    /// Sequence space acknowledged by the peer.
    pub bytes_acked: Bytes,
    /// Payload bytes received in order.
    pub bytes_received: Bytes,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Payload bytes retransmitted.
    pub bytes_retransmitted: Bytes,
    /// Fast retransmits (fast recoveries started).
    pub fast_retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Duplicate ACKs received; with SACK, ACKs that newly SACK data.
    pub duplicate_acks: u64,
    /// Segments received with a zero window, except SYN, FIN and RST.
    pub zero_windows: u64,
    /// Segments reported as duplicates by the peer (D-SACK).
    pub dsacks: u64,
    /// Window reductions undone because no segment had been lost.
    pub reductions_undone: u64,
    /// Tail loss probes.
    pub tail_probes: u64,
    /// Window codes applied.
    pub codes_applied: u64,
    /// Window codes sent.
    pub codes_sent: u64,
    /// Data segments received without new data.
    pub duplicates_received: u64,
    /// Data segments received out of order.
    pub out_of_order_received: u64,
    /// Window reductions due to ECN marks.
    pub ecn_reductions: u64,
    /// Data segments received with a mark (CE).
    pub marked_received: u64,
    /// Segments refused for an old timestamp (RFC 7323 §5, PAWS) or a position outside the window.
    pub segments_refused: u64,
}

impl Endpoint {
    /// Returns the state of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the reason for an early end of the connection.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        let sent = self.sender.counts();
        Stats {
            data_segments_sent: sent.data_segments,
            bytes_sent: Bytes(sent.bytes),
            bytes_acked: Bytes(sent.bytes_acked),
            bytes_received: Bytes(self.receiver.received()),
            retransmissions: sent.retransmissions,
            bytes_retransmitted: Bytes(sent.bytes_retransmitted),
            fast_retransmits: sent.fast_retransmits,
            timeouts: self.stats.timeouts + sent.timeouts,
            window_probes: sent.probes,
            duplicate_acks: sent.duplicate_acks,
            dsacks: sent.dsacks,
            reductions_undone: sent.undone,
            tail_probes: sent.tail_probes,
            codes_applied: sent.codes,
            ecn_reductions: sent.ecn_reductions,
            marked_received: self.receiver.marked(),
            ..self.stats
        }
    }

    /// Returns the payload bytes received, in order or not.
    pub fn bytes_arrived(&self) -> Bytes {
        Bytes(self.receiver.arrived())
    }

    /// Returns the queueing delay of the newest data, if the receive-window control measures it.
    pub fn queueing_delay(&self) -> Option<Span> {
        self.receiver.queueing_delay()
    }

    /// Returns the minimum RTT sample of the data received here.
    pub fn min_receiver_rtt(&self) -> Option<Span> {
        self.receiver.min_rtt()
    }

    /// Returns the payload bytes received in order.
    pub fn bytes_received(&self) -> Bytes {
        Bytes(self.receiver.received())
    }

    /// Returns cwnd; during fast recovery the window of the recovery algorithm.
    pub fn cwnd(&self) -> Bytes {
        Bytes(self.sender.window())
    }

    /// Returns ssthresh.
    pub fn ssthresh(&self) -> Bytes {
        self.sender.cc().ssthresh()
    }

    /// Returns the congestion control.
    pub fn cc(&self) -> &dyn cc::CongestionControl {
        self.sender.cc()
    }

    /// Returns the congestion control mutably, to set its window or its pacing rate from outside.
    pub fn cc_mut(&mut self) -> &mut dyn cc::CongestionControl {
        self.sender.cc_mut()
    }

    /// Returns the time spent in each send limit since the connection was established.
    pub fn limited(&self, now: Time) -> Limited {
        self.sender.limited(now)
    }

    /// Returns the window advertised by the peer.
    pub fn peer_window(&self) -> Bytes {
        Bytes(u64::from(self.sender.peer_window()))
    }

    /// Returns the advertised window: bytes that may still arrive.
    pub fn offered_window(&self) -> Bytes {
        Bytes(u64::from(self.receiver.offered()))
    }

    /// Returns the estimated bytes in the network.
    pub fn in_flight(&self) -> Bytes {
        Bytes(u64::from(self.sender.in_flight()))
    }

    /// Returns the bytes sent and not cumulatively acknowledged.
    pub fn outstanding(&self) -> Bytes {
        Bytes(u64::from(self.sender.outstanding()))
    }

    /// Returns the bytes written and not sent; zero for an endless source.
    pub fn queued(&self) -> Bytes {
        Bytes(self.sender.queued())
    }

    /// Returns true if the application has written more than was sent.
    pub fn has_more(&self) -> bool {
        self.sender.has_more()
    }

    /// Returns the received bytes that the application has not read.
    pub fn unread(&self) -> Bytes {
        Bytes(u64::from(self.receiver.unread()))
    }

    /// Returns the sender's smoothed RTT.
    pub fn srtt(&self) -> Option<Span> {
        self.sender.rtt().srtt()
    }

    /// Returns the sender's most recent RTT sample since the last call.
    pub fn take_rtt_sample(&mut self) -> Option<Span> {
        self.sender.take_rtt_sample()
    }

    /// Returns the sender's minimum RTT.
    pub fn min_rtt(&self) -> Option<Span> {
        self.sender.rtt().min()
    }

    /// Returns the retransmission timeout.
    pub fn rto(&self) -> Span {
        self.sender.rtt().rto()
    }

    /// Returns the receiver's RTT estimate.
    pub fn receiver_rtt(&self) -> Option<Span> {
        self.receiver.rtt()
    }

    /// Returns true during loss recovery.
    pub fn is_recovering(&self) -> bool {
        self.sender.is_recovering()
    }
}
