//! TCP endpoints without I/O.
//!
//! An [`Endpoint`] takes segments and the time as input and returns segments to send and its next deadline. It has no
//! clock, no network and no source of randomness, and stores no payload. Both directions carry data.
//!
//! * Two families of algorithms, one file each: congestion control ([`cc`]) and, in a separate crate, receive-window
//!   control ([`rwnd`]).
//! * Defaults of TCP implementations as one table: [`stack`].
//!
//! ```
//! use airwnd_tcp::{Endpoint, Seq, EndpointSetup, Stack, cc, rwnd};
//! use airwnd_units::{Bytes, Span, Time};
//! use std::sync::Arc;
//! let config = Arc::new(Stack::Ns3v44.config());
//! let cc = cc::Spec::Newreno(cc::newreno::Params::default());
//! let rwnd = rwnd::Spec::Fixed(rwnd::fixed::Params::default());
//! let setup = EndpointSetup { config: &config, cc: &cc, rwnd: &rwnd, peer_rwnd: &rwnd, iss: Seq(0), seed: 1,
//!     identity: Default::default() };
//! let (mut client, mut server) = (Endpoint::new(&setup), Endpoint::new(&setup));
//! server.listen();
//! client.connect();
//! client.write(Bytes(10_000));
//! client.close();
//! let mut now = Time::ZERO;
//! while server.stats().bytes_received < Bytes(10_000) {
//!     now += Span::from_millis(10);
//!     while let Some(segment) = client.poll_transmit(now) {
//!         server.on_segment(now, &segment);
//!     }
//!     while let Some(segment) = server.poll_transmit(now) {
//!         client.on_segment(now, &segment);
//!     }
//! }
//! ```

pub mod cc;
mod ecn;
mod endpoint;
mod flow;
mod misbehaviour;
mod receiver;
pub mod segment;
mod sender;
pub mod stack;

pub use airwnd_rwnd as rwnd;
pub use airwnd_rwnd::Seq;
pub use endpoint::{Endpoint, EndpointSetup, Failure, State, Stats};
pub use segment::Segment;
pub use sender::limit::Limited;
pub use stack::{Config, OtherQuirks, Overrides, Quirks, Settings, Stack};
