//! Queue disciplines against literal transcriptions of their definitions, over random arrivals and services.
//!
//! A definition counts in seconds and bytes and keeps to the letters of its source, slowly and without any of the
//! engine's helpers.

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
