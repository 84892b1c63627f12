#![no_main]

#[path = "../../tests/rust/fuzz/replies.rs"]
mod replies;

libfuzzer_sys::fuzz_target!(|given: &[u8]| replies::run(given));
