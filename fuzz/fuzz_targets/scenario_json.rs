//! `airwnd_attack::targets::scenario_json`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(what) = airwnd_attack::targets::scenario_json(bytes) {
        panic!("{what}");
    }
});
