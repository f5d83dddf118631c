//! The integration tests as one program, which links faster than one per file and keeps all cores busy.

mod aqm_closed_forms;
mod aqm_definitions;
mod aqm_properties;
mod wifi;
