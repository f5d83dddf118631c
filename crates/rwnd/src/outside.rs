//! Receive-window controls from outside the engine.

use super::{ReceiverContext, RwndController, fixed};
use airwnd_catalog::outside::Family;

impl Family for dyn RwndController {
    type Context = ReceiverContext;

    fn substitute(ctx: &ReceiverContext) -> Box<Self> {
        Box::new(fixed::Fixed::new(fixed::Params::default(), ctx))
    }
}
