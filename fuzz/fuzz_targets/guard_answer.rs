//! `airwnd_attack::guard::answer`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(what) = airwnd_attack::guard::answer(bytes) {
        panic!("{what}");
    }
});
