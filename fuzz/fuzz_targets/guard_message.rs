//! `airwnd_attack::guard::message`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(what) = airwnd_attack::guard::message(bytes) {
        panic!("{what}");
    }
});
