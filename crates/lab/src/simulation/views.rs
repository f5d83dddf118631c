//! State of flows and UEs during a run.

use super::Simulation;
use airwnd_cell::UeId;
use airwnd_units::{Bytes, Span, Time};

/// State of a UE.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UeView {
    /// Bytes queued at the eNB; without cells: in the link queues of the downlink path.
    pub queue_bytes: Bytes,
    /// Packets queued there.
    pub queue_packets: u64,
    /// SINR of the latest report in dB; `None` without cells or before the first report.
    pub sinr_db: Option<f64>,
    /// Number of the serving cell; `None` without cells.
    pub cell: Option<u16>,
    /// Sum of the MCS of first downlink transmissions so far, and their number.
    pub mcs: (u64, u64),
    /// Bytes of downlink transport blocks decoded so far; zero without cells.
    pub decoded: Bytes,
    /// Position in metres, east and north of the origin; `None` without cells.
    pub position_m: Option<[f64; 2]>,
}

/// PRBs of the downlink of a cell since the beginning, warm-up included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellView {
    /// PRBs used for data, retransmissions included.
    pub used: u64,
    /// Mean number of PRBs per TTI that data can use.
    pub offered_per_tti: f64,
}

/// State of a simulated flow. Counters are sums since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowView {
    /// Whether it has started and may still transfer data.
    pub is_active: bool,
    /// Payload received, in order for TCP.
    pub goodput: Bytes,
    /// IP packets with data sent, received, and dropped on the path.
    pub packets: [u64; 3],
    /// Packets received with a congestion mark.
    pub marked: u64,
    /// Sum of the one-way delays of the packets received.
    pub delays: Span,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// TCP: the state of its connection.
    pub tcp: Option<TcpView>,
}

/// State of a TCP connection at the sender of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpView {
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold; `None` before it is set.
    pub ssthresh: Option<Bytes>,
    /// Receive window advertised to the sender.
    pub rwnd: Bytes,
    /// Bytes in flight, as estimated by the sender.
    pub in_flight: Bytes,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Span>,
    /// Minimum RTT.
    pub min_rtt: Option<Span>,
    /// Pacing rate of the congestion control in bit/s; `None`: it sets none.
    pub pacing_rate_bps: Option<u64>,
}

impl Simulation<'_> {
    /// Id of a flow in results.
    pub(super) fn flow_id(&self, number: u32) -> String {
        self.groups[self.flows[number as usize].group as usize].flow_id(number)
    }

    /// State of a UE.
    pub(super) fn ue_view(&mut self, now: Time, ue: u32) -> UeView {
        match self.network.ran() {
            Some(ran) => {
                let (backlog, figures) = (ran.backlog(UeId(ue)), ran.ue_figures(UeId(ue)));
                UeView {
                    queue_bytes: backlog.bytes,
                    queue_packets: backlog.packets,
                    sinr_db: figures.sinr.map(|sinr| sinr.0),
                    cell: Some(figures.cell.0),
                    mcs: (figures.downlink.mcs_sum, figures.downlink.first),
                    decoded: Bytes(figures.downlink.decoded_bytes),
                    position_m: Some([figures.position.x.0, figures.position.y.0]),
                }
            }
            None => {
                let waiting = self.network.waiting_for(now, ue);
                UeView { queue_bytes: waiting.bytes, queue_packets: waiting.packets, ..UeView::default() }
            }
        }
    }

    /// State of a simulated flow.
    pub(super) fn flow_view(&self, number: u32) -> FlowView {
        let flow = &self.flows[number as usize];
        let meter = &flow.meter;
        let stats = flow.sending().map(|endpoint| endpoint.stats()).unwrap_or_default();
        let (retransmissions, timeouts, delays) = match &flow.row {
            None => (stats.retransmissions, stats.timeouts, meter.delay.so_far().0 as u64),
            // Its histogram has been released.
            Some(row) => {
                let mean_ms = row.delay_ms.mean.unwrap_or_default();
                (row.retransmissions, row.timeouts, (mean_ms * 1e6 * meter.received as f64) as u64)
            }
        };
        let is_open = flow.connection.as_ref().is_none_or(|connection| connection.is_open());
        FlowView {
            is_active: meter.started.is_some() && flow.row.is_none() && is_open,
            goodput: meter.payload,
            packets: [meter.sent, meter.received, meter.dropped],
            marked: meter.marked,
            delays: Span(delays),
            retransmissions,
            timeouts,
            tcp: flow.sending().map(|endpoint| TcpView {
                cwnd: endpoint.cwnd(),
                ssthresh: Some(endpoint.ssthresh()).filter(|threshold| threshold.0 < 1 << 40),
                rwnd: endpoint.peer_window(),
                in_flight: endpoint.in_flight(),
                srtt: endpoint.srtt(),
                min_rtt: endpoint.min_rtt(),
                pacing_rate_bps: endpoint.cc().pacing_rate().map(|rate| rate.0),
            }),
        }
    }
}
