//! The integration tests except those of `kernel`, which has a harness of its own, as one program.

#![cfg(target_os = "linux")]

mod differential;
