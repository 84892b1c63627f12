#![no_main]

#[path = "../../tests/rust/fuzz/arrow.rs"]
mod arrow;

libfuzzer_sys::fuzz_target!(|given: &[u8]| arrow::run(given));
