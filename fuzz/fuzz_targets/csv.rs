//! `airwnd_attack::targets::csv`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(what) = airwnd_attack::targets::csv(bytes) {
        panic!("{what}");
    }
});
