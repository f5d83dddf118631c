//! `airwnd_attack::owner::calls`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(what) = airwnd_attack::owner::calls(bytes) {
        panic!("{what}");
    }
});
