//! A window that does not change.

use super::{Advertisement, ReceiverContext, RecvView, RwndController};
use airwnd_catalog::params;
use airwnd_units::{Bytes, Time};

params! {
    /// A constant receive window: the free buffer, at most `limit`.
    ///
    /// Without a limit this is plain flow control, as ns-3 has it.
    pub struct Params ("RFC 9293 §3.8.6") {
        /// The most that is offered.
        pub limit: Option<Bytes> = None, unit "B", range Bytes(1)..=Bytes(1 << 30), source "RFC 9293 §3.8.6";
    }
}

/// The state of a constant window.
#[derive(Clone, Debug)]
pub struct Fixed {
    limit: Bytes,
}

impl Fixed {
    /// A window of at most `limit`.
    pub fn new(params: Params, ctx: &ReceiverContext) -> Fixed {
        Fixed { limit: params.limit.unwrap_or(ctx.buffer) }
    }
}

impl RwndController for Fixed {
    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        Advertisement::Window(self.limit.min(view.free))
    }
}
