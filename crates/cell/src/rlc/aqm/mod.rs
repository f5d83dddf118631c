//! Queue disciplines for the bearer's buffer.
//!
//! A discipline works on whole SDUs above segmentation: once RLC has sent part of an SDU, the rest belongs
//! to RLC.

use super::{Fate, Sdu};
use airwnd_catalog::family;
use airwnd_units::{Bytes, Time};

family! {
    /// Queue discipline of the bearer's buffer before RLC.
    pub family Spec ("aqm") { drop_tail: DropTail }
    build fn build() -> Box<dyn QueueDisc>;
}

/// How much waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes, with PDCP headers.
    pub bytes: Bytes,
    /// SDUs.
    pub sdus: u64,
}

/// A queue of SDUs that decides what to drop.
pub trait QueueDisc: Send {
    /// An SDU arrives. `held` is what RLC still holds of a partly sent SDU: it counts against the buffer, but
    /// can no longer be dropped. The SDU is queued, or handed to `fate`.
    fn enqueue(&mut self, now: Time, sdu: Sdu, held: Bytes, fate: &mut dyn Fate);
    /// RLC takes the next SDU. SDUs dropped on the way are handed to `fate`.
    fn dequeue(&mut self, now: Time, fate: &mut dyn Fate) -> Option<Sdu>;
    /// What waits now.
    fn backlog(&self) -> Backlog;
    /// The SDUs inside, first to leave first.
    fn inside(&self) -> Box<dyn Iterator<Item = &Sdu> + '_>;
}
