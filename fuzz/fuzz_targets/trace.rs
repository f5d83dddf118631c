//! `airwnd_attack::targets::trace`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(what) = airwnd_attack::targets::trace(bytes) {
        panic!("{what}");
    }
});
