//! What the fuzz targets of `fuzz/` do with bytes, and their corpus, replayed. `make fuzz-rust` looks for new ones.
//! Those that need Arrow are in `arrow_targets.rs`.

mod corpus;
mod cron;
mod options;
mod replies;

#[test]
fn every_input_of_the_corpus_is_read() {
    corpus::replay(&[("cron", cron::run), ("options", options::run), ("replies", replies::run)]);
}
