//! Losses listed in the scenario.

use super::{Loss, Passing};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Span, Time};
use std::fmt::Display;

/// Scripted: loses the listed packets and no others.
///
/// Packet numbers start at 0 and count all packets that enter the link in this direction, of all flows and including
/// ACKs. An instant selects the next packet that arrives at or after it and is not selected yet.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 ReceiveListErrorModel; instants: airwnd", check)]
pub struct Params {
    /// Packet numbers, ascending.
    #[param(basic, default = Vec::new(), range = 0..=9_223_372_036_854_775_807)]
    #[param(unit = "packets", source = "the scenario")]
    pub packets: Vec<u64>,
    /// Instants at the end of the link, counted from the end of the warm-up, ascending.
    #[param(basic, default = Vec::new(), range = Span::ZERO..=Span::from_secs(31_536_000))]
    #[param(unit = "time", source = "the scenario")]
    pub instants: Vec<Span>,
}

impl Params {
    /// Checks that both lists are in ascending order.
    fn check(&self) -> Result<(), (&'static str, String)> {
        ascending(&self.packets).map_err(|why| ("packets", why))?;
        ascending(&self.instants).map_err(|why| ("instants", why))
    }
}

fn ascending<T: PartialOrd + Display>(list: &[T]) -> Result<(), String> {
    match list.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(format!("{} follows {}; the list must be in ascending order", pair[1], pair[0])),
        None => Ok(()),
    }
}

/// Script and current position.
pub struct Scripted {
    params: Params,
    start: Time,
    packets: usize,
    instants: usize,
}

impl Scripted {
    /// Creates a script at its beginning; its instants count from `start`.
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
