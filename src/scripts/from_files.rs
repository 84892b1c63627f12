//! Scripts as they stand in the folder `lua` when the program first uses one. It is a development feature: a change of
//! a script needs no build.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use super::{flatten, Script};

/// Text and SHA-1 of each script by its name.
static FILES: LazyLock<HashMap<String, (String, String)>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("lua");
    let scripts = flatten::read(&root).unwrap_or_else(|error| panic!("{error}"));
    let hashed = scripts.into_iter().map(|script| {
        let sha = sha1_smol::Sha1::from(&script.source).digest().to_string();
        (format!("{}/{}", script.family, script.name), (script.source, sha))
    });
    hashed.collect()
});

impl Script {
    /// What is sent to Redis.
    #[must_use]
    pub fn source(&self) -> &'static str {
        FILES.get(self.name).map_or(self.source, |(source, _)| source)
    }

    /// SHA-1 of the source, in hex.
    #[must_use]
    pub fn sha(&self) -> &'static str {
        FILES.get(self.name).map_or(self.sha, |(_, sha)| sha)
    }
}
