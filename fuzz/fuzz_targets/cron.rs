#![no_main]

#[path = "../../tests/rust/fuzz/cron.rs"]
mod cron;

libfuzzer_sys::fuzz_target!(|given: &[u8]| cron::run(given));
