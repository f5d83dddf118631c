//! `airwnd_attack::guard::rules`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(what) = airwnd_attack::guard::rules(bytes) {
        panic!("{what}");
    }
});
