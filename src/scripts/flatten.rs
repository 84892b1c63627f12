//! Flattens the Lua scripts into one text each: includes resolved, comments stripped. `build.rs` does it for a build,
//! and the development feature `lua-files` at the first call.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::key_table::{End, Key, KEYS};

const INCLUDE: &str = "--- @include ";

/// One script.
pub struct Flat {
    pub family: String,
    pub name: String,
    /// The comment at its top; only `build.rs` reads it.
    #[allow(dead_code)]
    pub contract: String,
    pub source: String,
}

/// Reads all scripts of a folder.
///
/// # Errors
/// The text names the file.
pub fn read(root: &Path) -> Result<Vec<Flat>, String> {
    let mut includes = read_folder(&root.join("include"))?;
    for room in folders(&root.join("include"))? {
        includes.append(&mut read_folder(&root.join("include").join(room))?);
    }
    includes.insert("keys_to_empty".to_owned(), lua_list("keys_to_empty", End::Emptied));
    includes.insert("keys_to_delete".to_owned(), lua_list("keys_to_delete", End::Deleted));
    let mut all = Vec::new();
    for family in folders(root)?.into_iter().filter(|family| family != "include") {
        for (name, text) in read_folder(&root.join(&family))? {
            let source = flatten(&includes, &format!("{family}/{name}"), &text)?;
            all.push(Flat { family: family.clone(), name, contract: contract(&text), source });
        }
    }
    Ok(all)
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
