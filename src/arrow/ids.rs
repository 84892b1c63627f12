//! Job ids from the data: from a column, or from the content of the row.

use std::collections::HashMap;
use std::fmt::Write;

use xxhash_rust::xxh3::Xxh3;

use super::{Invalid, Texts};
use bullrush::error::Error;
use bullrush::protocol::key_table::is_reserved;

/// Gives rows the id `<scope>.<hash>.<k>`: `hash` is the xxh3-128 of data and name in hex, `k` counts the equal rows
/// before it.
///
/// A task that is retried gets the same rows in any order and gives them the same set of ids, so it adds nothing twice.
/// Rows that are equal stay separate jobs. Needs about 50 bytes of memory per row.
#[derive(Debug)]
pub struct AutoIds {
    scope: String,
    seen: HashMap<u128, u32>,
}

impl AutoIds {
    /// Start counting in `scope`, which must differ between partitions and between runs that are not retries.
    ///
    /// # Errors
    /// `InvalidOption` when the scope is empty or has a colon, which BullMQ refuses in an id.
    pub fn new(scope: &str) -> Result<Self, Error> {
        if scope.is_empty() || scope.contains(':') {
            return Err(Error::InvalidOption(format!("The scope of automatic ids is empty or has a colon: {scope:?}")));
        }
        Ok(Self { scope: scope.to_owned(), seen: HashMap::new() })
    }

    /// Give each row its id; `common` is the name of the jobs that have none of their own.
    pub(super) fn assign(&mut self, data: &Texts, common: &str, names: Option<&Texts>) -> Texts {
        let mut out = Texts::with_capacity(data.len(), data.len() * (self.scope.len() + 36));
        let mut id = String::new();
        for row in 0..data.len() {
            let mut hasher = Xxh3::new();
            hasher.update(data.get(row).as_bytes());
            // The JSON of a row has no newline, so no other pair of data and name gives these bytes.
            hasher.update(b"\n");
            hasher.update(names.map_or(common, |names| names.get(row)).as_bytes());
            let hash = hasher.digest128();
            let k = self.seen.entry(hash).and_modify(|k| *k += 1).or_insert(0);
            id.clear();
            write!(id, "{}.{hash:032x}.{k}", self.scope).expect("a String takes everything");
            out.push(&id);
        }
        out
    }
}

/// Turn the values of an id column into BullMQ ids: a whole number becomes `<column>-<number>`, other values do not
/// change.
///
/// BullMQ refuses numbers, because they are the ids of its own counter. The rule looks at the value and not at the
/// column's type, so `7` and `"7"` are the same job.
pub(super) fn from_column(column: &str, values: &Texts, invalid: &mut Invalid) -> Result<Texts, Error> {
    let mut out = Texts::with_capacity(values.len(), values.bytes.len() + values.len() * (column.len() + 1));
    for row in 0..values.len() {
        let value = values.get(row);
        if is_whole_number(value) {
            out.bytes.extend_from_slice(column.as_bytes());
            out.bytes.push(b'-');
        }
        out.push(value);
        let id = out.get(row);
        // A row that is left out already may have any text here.
        if let (false, Err(why)) = (invalid.has(row), check(id)) {
            invalid.add(row, || format!("{why}: {id:?} in row {row} of column {column:?}"))?;
        }
    }
    Ok(out)
}

fn is_whole_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Check a custom id as BullMQ does, and that it is not a key of the queue.
fn check(id: &str) -> Result<(), &'static str> {
    if id.is_empty() {
        return Err("A custom id cannot be empty");
    }
    if is_reserved(id) {
        return Err("Custom Id cannot be a key of the queue");
    }
    if id.starts_with("0:") {
        return Err("JobId cannot be '0' or start with 0:");
    }
    // Ids with three parts were those of repeatable jobs; BullMQ accepts them.
    match id.matches(':').count() {
        0 | 2 => Ok(()),
        _ => Err("Custom Id cannot contain :"),
    }
}
