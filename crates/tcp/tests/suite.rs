//! The tests of endpoints as one program: linking one program is faster than linking one per file, and all cores are
//! busy until the last test.

mod support;

mod bbr;
mod closed_forms;
mod conformance;
mod ecn;
mod linux_reference;
mod marking_queue;
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

/// A file missing above would be neither compiled nor run.
#[test]
fn every_file_of_tests_is_in_a_suite() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let (suite, manifest) = (include_str!("suite.rs"), include_str!("../Cargo.toml"));
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let listed = suite.lines().any(|line| line == format!("mod {name};"));
            assert!(
                listed || manifest.contains(&format!("\"tests/{name}.rs\"")),
                "{} is in no suite",
                path.display()
            );
        }
    }
}
