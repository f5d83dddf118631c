//! What several files of tests share.

pub mod csv;
pub mod reference;
pub mod s3;
