//! Queue disciplines compared with literal transcriptions of their definitions, over random arrivals and departures.
//!
//! A definition uses seconds and bytes and the symbols of its source, without optimisation and without the engine's
//! helpers.

mod avq;
mod blue;
mod cobalt;
mod codel;
mod drops;
mod dualpi2;
mod flows;
mod model;
mod pie;
mod red;
