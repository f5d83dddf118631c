//! `airwnd_attack::guard::reports`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(what) = airwnd_attack::guard::reports(bytes) {
        panic!("{what}");
    }
});
