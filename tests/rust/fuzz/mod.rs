//! What the fuzz targets of `fuzz/` do with bytes, and their corpus, replayed. `make fuzz-rust` looks for new ones.

#[cfg(feature = "arrow")]
mod arrow;
mod cron;
#[cfg(feature = "arrow")]
mod job_hashes;
mod options;
mod replies;

use std::path::Path;

/// A name and what runs an input.
type Target = (&'static str, fn(&[u8]));

#[test]
fn every_input_of_the_corpus_is_read() {
    let targets: &[Target] = &[
        #[cfg(feature = "arrow")]
        ("arrow", arrow::run),
        ("cron", cron::run),
        #[cfg(feature = "arrow")]
        ("job_hashes", job_hashes::run),
        ("options", options::run),
        ("replies", replies::run),
    ];
    for &(target, run) in targets {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
        let inputs: Vec<_> = std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!inputs.is_empty(), "{}", corpus.display());
        for input in inputs {
            println!("{}", input.display());
            run(&std::fs::read(input).unwrap());
        }
    }
}
