//! Replays the corpus of fuzz targets.

use std::path::{Path, PathBuf};

/// A name and what runs an input.
pub type Target = (&'static str, fn(&[u8]));

/// Runs each target with each input of its corpus.
pub fn replay(targets: &[Target]) {
    for &(target, run) in targets {
        let corpus = corpora().join(target);
        let inputs: Vec<_> = std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!inputs.is_empty(), "{}", corpus.display());
        for input in inputs {
            println!("{}", input.display());
            run(&std::fs::read(input).unwrap());
        }
    }
}

fn corpora() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    crates.map(|folder| folder.join("fuzz/corpus")).find(|corpora| corpora.exists()).unwrap()
}
