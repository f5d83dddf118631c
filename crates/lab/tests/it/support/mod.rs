//! Helpers shared by several test files.

pub mod counting;
pub mod csv;
pub mod reference;
pub mod s3;
pub mod saturated;
pub mod threads;
