//! Tests of the facade as an outsider uses it.

mod calls;
mod driving;
mod page;
mod same_as_simulated;
mod scenarios;
