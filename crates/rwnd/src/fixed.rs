//! A constant receive window.

use super::{Advertisement, Capabilities, ReceiverContext, RecvView, RwndController};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Time};

/// Fixed: constant receive window; the free buffer, at most `limit`.
///
/// Without a limit this is plain flow control, as in ns-3.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 9293 §3.8.6")]
pub struct Params {
    /// Maximum offered window; `none`: no limit.
    #[param(basic, default = None, range = Bytes(1)..=Bytes(1 << 30), unit = "B", source = "RFC 9293 §3.8.6")]
    pub limit: Option<Bytes>,
}

/// State of a constant window.
#[derive(Clone, Debug)]
pub struct Fixed {
    limit: Bytes,
}

impl Fixed {
    /// Creates a window of at most `limit`.
    pub fn new(params: Params, ctx: &ReceiverContext) -> Fixed {
        Fixed { limit: params.limit.unwrap_or(ctx.buffer) }
    }
}

impl RwndController for Fixed {
    fn capabilities(&self) -> Capabilities {
        Capabilities { is_static: true, ..Capabilities::default() }
    }

    fn set_window(&mut self, window: Bytes) -> bool {
        self.limit = window;
        true
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        Advertisement::Window(self.limit.min(view.free))
    }
}
