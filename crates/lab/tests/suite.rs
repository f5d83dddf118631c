//! All simulation tests as one binary: it links faster than one binary per file, and keeps all cores busy until the
//! last test.

mod support;

mod allocations;
mod arwa;
mod bbr;
mod bearers;
mod broken_links;
mod broken_scenarios;
mod carriers;
mod citations;
mod closed_forms;
mod common_random_numbers;
mod configured_grants;
mod determinism;
mod disciplines;
mod drx;
mod exceptions;
mod fading;
mod flows;
mod golden;
mod handover;
mod invariants;
mod known_links;
mod l4s;
mod links;
mod live;
mod loss;
mod lossy_bearer;
mod lte_layers;
mod memory;
mod neighbours;
mod nr;
mod ns3_disciplines;
mod ns3_reference;
mod packet_path;
mod parsers;
mod pdcch;
mod plugins;
mod radio_map;
mod records;
mod reference;
mod schedulers;
mod threads;
mod uplink;
mod wifi;

/// A test file that is not listed above would be neither compiled nor run.
#[test]
fn every_test_file_is_in_a_suite() {
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
