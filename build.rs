//! Writes the Lua scripts as Rust constants: flattened and hashed.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The same files as in the library.
#[allow(dead_code)]
#[path = "src/protocol/key_table.rs"]
mod key_table;

#[path = "src/scripts/flatten.rs"]
mod flatten;

fn main() {
    println!("cargo:rerun-if-changed=lua");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/protocol/key_table.rs");
    println!("cargo:rerun-if-changed=src/scripts/flatten.rs");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("lua");
    let code = generate(&root).unwrap_or_else(|error| panic!("{error}"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it")).join("scripts.rs");
    fs::write(out, code).expect("OUT_DIR is writable");
}

/// Writes one module per family and one const per script.
fn generate(root: &Path) -> Result<String, String> {
    let mut code = String::new();
    let mut all = String::new();
    for scripts in flatten::read(root)?.chunk_by(|one, next| one.family == next.family) {
        let _ = writeln!(code, "pub mod {} {{\n    use super::super::Script;", scripts[0].family);
        for flatten::Flat { family, name, contract, source } in scripts {
            let sha = sha1_smol::Sha1::from(source).digest().to_string();
            let upper = name.to_uppercase();
            let _ = writeln!(
                code,
                "    /// `lua/{family}/{name}.lua`\n    \
                 pub static {upper}: Script = Script {{ name: {:?}, contract: {contract:?}, source: {source:?}, sha: {sha:?} }};",
                format!("{family}/{name}"),
            );
            let _ = write!(all, "&{family}::{upper}, ");
        }
        code.push_str("}\n");
    }
    let _ = writeln!(code, "pub static ALL: &[&super::Script] = &[{all}];");
    Ok(code)
}
