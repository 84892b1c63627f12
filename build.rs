//! Flattens the Lua scripts into one string each: includes resolved, comments stripped, hashed.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use key_table::{End, Key, KEYS};

/// The same file as in the library, so that Lua has no list of its own.
#[allow(dead_code)]
#[path = "src/protocol/key_table.rs"]
mod key_table;

const INCLUDE: &str = "--- @include ";

fn main() {
    println!("cargo:rerun-if-changed=lua");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/protocol/key_table.rs");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("lua");
    let code = generate(&root).unwrap_or_else(|error| panic!("{error}"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it")).join("scripts.rs");
    fs::write(out, code).expect("OUT_DIR is writable");
}

/// Writes one module per family and one const per script.
fn generate(root: &Path) -> Result<String, String> {
    let mut includes = read_folder(&root.join("include"))?;
    for room in folders(&root.join("include"))? {
        includes.append(&mut read_folder(&root.join("include").join(room))?);
    }
    includes.insert("keys_to_empty".to_owned(), lua_list("keys_to_empty", End::Emptied));
    includes.insert("keys_to_delete".to_owned(), lua_list("keys_to_delete", End::Deleted));
    let mut code = String::new();
    let mut all = String::new();
    for family in folders(root)? {
        if family == "include" {
            continue;
        }
        let _ = writeln!(code, "pub mod {family} {{\n    use super::super::Script;");
        for (name, text) in read_folder(&root.join(&family))? {
            let source = flatten(&includes, &format!("{family}/{name}"), &text)?;
            let sha = sha1_smol::Sha1::from(&source).digest().to_string();
            let contract = contract(&text);
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

/// A Lua table of the keys that end in this way: `{ { name, type }, ... }`.
fn lua_list(name: &str, end: End) -> String {
    let keys = KEYS.iter().filter(|key| key.end == end);
    let rows: Vec<String> = keys.map(|Key { name, kind, .. }| format!("{{ '{name}', '{kind}' }}")).collect();
    format!("local {name} = {{ {} }}\n", rows.join(", "))
}

/// The comment at the top of a script, which says what it does, takes and returns, without the dashes.
fn contract(text: &str) -> String {
    let header = text.lines().take_while(|line| line.starts_with("--"));
    let lines = header.map(|line| line.trim_start_matches('-')).map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

fn folders(root: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root).map_err(|error| format!("{}: {error}", root.display()))? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            names.extend(path.file_name().and_then(|name| name.to_str()).map(str::to_owned));
        }
    }
    names.sort();
    Ok(names)
}

/// The Lua files of a folder by stem; an absent folder has none.
fn read_folder(folder: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut files = BTreeMap::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(files);
    };
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.extension().is_some_and(|extension| extension == "lua") {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            files.insert(stem, text);
        }
    }
    Ok(files)
}

/// Replaces each include line with the file that it names, the first time only. The names of an indented include are
/// known only in its block: a function costs the server time whenever the line that makes it is reached, so seldom used
/// ones are made there.
fn flatten(includes: &BTreeMap<String, String>, name: &str, text: &str) -> Result<String, String> {
    let mut source = String::new();
    append(includes, name, text, &mut Vec::new(), &mut Vec::new(), &mut source)?;
    Ok(source)
}

fn append(
    includes: &BTreeMap<String, String>,
    name: &str,
    text: &str,
    path: &mut Vec<String>,
    done: &mut Vec<String>,
    source: &mut String,
) -> Result<(), String> {
    if path.iter().any(|above| above == name) {
        return Err(format!("lua: include cycle: {} -> {name}", path.join(" -> ")));
    }
    path.push(name.to_owned());
    let mut blocks: Vec<(usize, Vec<String>)> = Vec::new();
    for (indent, line) in text.lines().map(|line| (line.len() - line.trim_start().len(), line.trim())) {
        while !line.is_empty() && blocks.last().is_some_and(|(begins, _)| indent < *begins) {
            blocks.pop();
        }
        if let Some(wanted) = line.strip_prefix(INCLUDE).map(str::trim) {
            if indent > blocks.last().map_or(0, |(begins, _)| *begins) {
                blocks.push((indent, blocks.last().map_or_else(|| done.clone(), |(_, outer)| outer.clone())));
            }
            let done = blocks.last_mut().map_or(&mut *done, |(_, inner)| inner);
            if !done.iter().any(|included| included == wanted) {
                let unknown = || format!("lua/{name}: unknown include {wanted:?}");
                append(includes, wanted, includes.get(wanted).ok_or_else(unknown)?, path, done, source)?;
                done.push(wanted.to_owned());
            }
        } else if line.contains("[[") {
            return Err(format!("lua/{name}: long brackets are not supported: {line}"));
        } else if !line.is_empty() && !line.starts_with("--") {
            // The server needs neither comments nor blank lines nor indentation.
            source.push_str(line);
            source.push('\n');
        }
    }
    path.pop();
    Ok(())
}
