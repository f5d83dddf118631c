//! `airwnd_attack::targets::scenario_toml`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(what) = airwnd_attack::targets::scenario_toml(bytes) {
        panic!("{what}");
    }
});
