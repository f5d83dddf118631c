//! NR's physical layer: tables and functions of TS 38.101 and TS 38.211 to TS 38.214, and block errors, all pure.

pub mod block_errors;
pub mod carrier;
pub mod ldpc;
pub mod slots;
pub mod tables;
pub mod tdd;
pub mod transport_block;
