//! The integration tests but those of `kernel` as one program, which links faster than one per file and keeps all cores busy.

#![cfg(target_os = "linux")]

mod differential;
