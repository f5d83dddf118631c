//! `airwnd_attack::guard::recording`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(what) = airwnd_attack::guard::recording(bytes) {
        panic!("{what}");
    }
});
