//! The integration tests as one program, which links faster than one per file and keeps all cores busy.

mod radio_reference;
