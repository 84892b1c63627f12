//! The corpus of the fuzz targets that need Arrow, replayed; a test of the crate `bullrush-arrow`.

mod arrow;
mod corpus;
mod job_hashes;

#[test]
fn every_input_of_the_corpus_is_read() {
    corpus::replay(&[("arrow", arrow::run), ("job_hashes", job_hashes::run)]);
}
