#![no_main]

#[path = "../../tests/rust/fuzz/options.rs"]
mod options;

libfuzzer_sys::fuzz_target!(|given: &[u8]| options::run(given));
