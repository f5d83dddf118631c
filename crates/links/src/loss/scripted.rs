//! Losses that are written down.

use super::{Loss, Passing};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Span, Time};
use std::fmt::Display;

/// Scripted: the packets that are written down, and no others.
///
/// A packet's number counts from 0 all packets of this direction that enter the link, of all flows and with
/// acknowledgments. An instant takes the next packet to arrive at or after it that is not taken yet.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 ReceiveListErrorModel; instants airwnd", check)]
pub struct Params {
    /// Numbers of the packets, ascending.
    #[param(default = Vec::new(), range = 0..=9_223_372_036_854_775_807)]
    #[param(unit = "packets", source = "the scenario")]
    pub packets: Vec<u64>,
    /// Instants at the end of the link, counted from the end of the warm-up, ascending.
    #[param(default = Vec::new(), range = Span::ZERO..=Span::from_secs(31_536_000))]
    #[param(unit = "time", source = "the scenario")]
    pub instants: Vec<Span>,
}

impl Params {
    /// Whether both lists ascend.
    fn check(&self) -> Result<(), (&'static str, String)> {
        ascending(&self.packets).map_err(|why| ("packets", why))?;
        ascending(&self.instants).map_err(|why| ("instants", why))
    }
}

fn ascending<T: PartialOrd + Display>(list: &[T]) -> Result<(), String> {
    match list.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(format!("{} stands after {}; a script ascends", pair[1], pair[0])),
        None => Ok(()),
    }
}

/// A script, and how far it is played.
pub struct Scripted {
    params: Params,
    start: Time,
    packets: usize,
    instants: usize,
}

impl Scripted {
    /// A script at its beginning; its instants count from `start`.
    pub fn new(params: Params, _stream: Stream, start: Time) -> Self {
        Scripted { params, start, packets: 0, instants: 0 }
    }
}

impl Loss for Scripted {
    fn loses(&mut self, packet: Passing) -> bool {
        if self.params.packets.get(self.packets) == Some(&packet.number) {
            self.packets += 1;
            return true;
        }
        let due = self.params.instants.get(self.instants).is_some_and(|at| self.start + *at <= packet.at);
        self.instants += usize::from(due);
        due
    }
}
