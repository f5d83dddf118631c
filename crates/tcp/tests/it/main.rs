//! The integration tests as one program, which links faster than one per file and keeps all cores busy.

mod support;

mod allocation;
mod bbr;
mod cc_definitions;
mod closed_forms;
mod conformance;
mod ecn;
mod linux_reference;
mod marking_queue;
mod misbehaviour;
mod ns3_reference;
mod ns3_senders;
mod pacing;
mod properties;
mod rack;
mod recovery;
mod rwnd_conformance;
mod rwnd_fixed_points;
mod rwnd_measurements;
mod scripts;
