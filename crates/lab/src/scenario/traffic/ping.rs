//! Datagrams that are answered.

use super::{FlowContext, Source, Transport, Write};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};

/// Ping: UDP datagrams at equal intervals, each of which the other end returns at once; the flow's RTT is that of ping.
///
/// The delay of the flow is that of the requests. With `direction = "up"` the UE pings the server.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "iputils ping; airwnd guard test")]
pub struct Params {
    /// Time between two requests.
    #[param(basic, default = Span::from_millis(50), range = Span::from_micros(10)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "airwnd guard test")]
    pub interval: Span,
    /// Payload of a request, and of its answer.
    #[param(default = Bytes(64), range = Bytes(1)..=Bytes(65507))]
    #[param(unit = "B", source = "iputils ping: 56 B of data and 8 B of ICMP header")]
    pub packet: Bytes,
}

/// A source of evenly spaced requests.
pub struct Ping {
    params: Params,
}

impl Ping {
    /// Creates a source with this interval.
    pub fn new(params: Params, _ctx: &FlowContext) -> Self {
        Ping { params }
    }
}

impl Source for Ping {
    fn transport(&self) -> Transport {
        Transport::Udp
    }
    fn writes_per_second(&self) -> f64 {
        1.0 / self.params.interval.as_secs()
    }
    fn is_echoed(&self) -> bool {
        true
    }
    fn write(&mut self, now: Time) -> Write {
        Write::Piece(self.params.packet, now + self.params.interval)
    }
}
