//! The integration tests as one program, which links faster than one per file and keeps all cores busy.

mod bearers;
mod configured_grants;
mod drx;
mod fading;
mod lossy_bearer;
mod moving;
mod pdcch;
mod schedulers;
mod support;
mod uplink;
