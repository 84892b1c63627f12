#![no_main]

#[path = "../../tests/rust/fuzz/job_hashes.rs"]
mod job_hashes;

libfuzzer_sys::fuzz_target!(|given: &[u8]| job_hashes::run(given));
