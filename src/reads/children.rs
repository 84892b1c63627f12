//! The children of a job.

use std::collections::HashMap;

use redis::{Cmd, Value};

use super::{ask, command, Fields};
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// How many children one step of a scan reads.
const SCANNED: usize = 100;

/// What became of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Processed,
    Unprocessed,
    /// It failed, and its parent does not mind.
    Ignored,
    /// It failed, and so its parent fails.
    Failed,
}

/// The key of a child. With it what it returned, or why its failure is ignored; nothing for the other kinds.
pub type Child = (String, Option<Vec<u8>>);

/// Some children, and where the next ones begin; 0 at the end.
pub type Page = (u64, Vec<Child>);

impl Kind {
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "processed" => Kind::Processed,
            "unprocessed" => Kind::Unprocessed,
            "ignored" => Kind::Ignored,
            "failed" => Kind::Failed,
            _ => return None,
        })
    }

    fn key(self, job_key: &str) -> String {
        let part = match self {
            Kind::Processed => "processed",
            Kind::Unprocessed => "dependencies",
            Kind::Ignored => "failed",
            Kind::Failed => "unsuccessful",
        };
        format!("{job_key}:{part}")
    }

    fn is_hash(self) -> bool {
        matches!(self, Kind::Processed | Kind::Ignored)
    }

    fn all(self, job_key: &str) -> Cmd {
        let key = self.key(job_key);
        match self {
            Kind::Processed | Kind::Ignored => command("HGETALL", &[&key]),
            Kind::Unprocessed => command("SMEMBERS", &[&key]),
            Kind::Failed => command("ZRANGE", &[&key, "0", "-1"]),
        }
    }

    fn count(self, job_key: &str) -> Cmd {
        let key = self.key(job_key);
        match self {
            Kind::Processed | Kind::Ignored => command("HLEN", &[&key]),
            Kind::Unprocessed => command("SCARD", &[&key]),
            Kind::Failed => command("ZCARD", &[&key]),
        }
    }

    fn page(self, job_key: &str, cursor: u64, count: u64) -> Cmd {
        let key = self.key(job_key);
        let mut read = match self {
            Kind::Processed | Kind::Ignored => command("HSCAN", &[&key]),
            Kind::Unprocessed => command("SSCAN", &[&key]),
            Kind::Failed => command("ZRANGE", &[&key]),
        };
        match self {
            // One more than asked for: then there is another page.
            Kind::Failed => read.arg(cursor).arg(cursor.saturating_add(count)),
            _ => read.arg(cursor).arg("COUNT").arg(count),
        };
        read
    }

    fn members(self, value: Value) -> Result<Vec<Child>> {
        if self.is_hash() {
            return Ok(reply::pairs(value)?.into_iter().map(|(key, value)| (key, Some(value))).collect());
        }
        Ok(reply::texts(value)?.into_iter().map(|key| (key, None)).collect())
    }

    fn read_page(self, value: Value, cursor: u64, count: u64) -> Result<Page> {
        if self != Kind::Failed {
            let (next, found) = reply::page(value)?;
            return Ok((next, self.members(found)?));
        }
        let mut found = self.members(value)?;
        let asked = usize::try_from(count).unwrap_or(usize::MAX);
        let next = if found.len() > asked { cursor.saturating_add(count) } else { 0 };
        found.truncate(asked);
        Ok((next, found))
    }
}

/// All children of a job of these kinds.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn children(link: &Link, keys: &Keys, id: &str, kinds: &[Kind]) -> Result<Vec<Vec<Child>>> {
    let job_key = keys.job(id);
    let reads: Vec<Cmd> = kinds.iter().map(|kind| kind.all(&job_key)).collect();
    kinds.iter().zip(ask(link, &reads).await?).map(|(kind, reply)| kind.members(reply)).collect()
}

/// A page of each of some kinds of children: from which position on, and about how many.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn pages_of_children(link: &Link, keys: &Keys, id: &str, pages: &[(Kind, u64, u64)]) -> Result<Vec<Page>> {
    let job_key = keys.job(id);
    let reads: Vec<Cmd> = pages.iter().map(|&(kind, cursor, count)| kind.page(&job_key, cursor, count)).collect();
    let replies = ask(link, &reads).await?;
    pages.iter().zip(replies).map(|(&(kind, cursor, count), reply)| kind.read_page(reply, cursor, count)).collect()
}

/// How many children of each of these kinds a job has.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn count_children(link: &Link, keys: &Keys, id: &str, kinds: &[Kind]) -> Result<Vec<i64>> {
    let job_key = keys.job(id);
    let reads: Vec<Cmd> = kinds.iter().map(|kind| kind.count(&job_key)).collect();
    ask(link, &reads).await?.into_iter().map(reply::integer).collect()
}

/// A range of children, the hash of each, and how many there are in all.
#[derive(Clone, Debug)]
pub struct Range {
    pub children: Vec<Child>,
    pub hashes: Vec<Fields>,
    pub total: i64,
}

/// Reads the children from `start` to `end` in no particular order, as `Queue.getDependencies` does: places may count
/// from the end, and `end` -1 is the last one. Children behind `end` are not read.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn range_of_children(link: &Link, keys: &Keys, id: &str, kind: Kind, start: i64, end: i64) -> Result<Range> {
    let job_key = keys.job(id);
    let mut found = Distinct::default();
    let mut cursor = 0;
    loop {
        let read = kind.page(&job_key, cursor, SCANNED as u64);
        let (next, members) = kind.read_page(link.call(read, Retry::Look).await?, cursor, SCANNED as u64)?;
        members.into_iter().for_each(|child| found.put(child));
        if next == 0 || usize::try_from(end).is_ok_and(|end| end < found.children.len()) {
            break;
        }
        cursor = next;
    }
    let children = found.slice(start, end);
    let mut reads = vec![kind.count(&job_key)];
    reads.extend(children.iter().map(|(key, _)| command("HGETALL", &[key])));
    let mut replies = ask(link, &reads).await?.into_iter();
    let total = reply::integer(replies.next().unwrap_or(Value::Nil))?;
    Ok(Range { children, hashes: replies.map(reply::pairs).collect::<Result<_>>()?, total })
}

/// Children each once: a scan may return one twice.
#[derive(Default)]
struct Distinct {
    children: Vec<Child>,
    places: HashMap<String, usize>,
}

impl Distinct {
    fn put(&mut self, child: Child) {
        match self.places.get(&child.0) {
            Some(&place) => self.children[place] = child,
            None => {
                self.places.insert(child.0.clone(), self.children.len());
                self.children.push(child);
            }
        }
    }

    fn slice(mut self, start: i64, end: i64) -> Vec<Child> {
        let count = i64::try_from(self.children.len()).unwrap_or(i64::MAX);
        let place = |at: i64| if at < 0 { (count + at).max(0) } else { at.min(count) } as usize;
        let stop = if end == -1 { self.children.len() } else { place(end.saturating_add(1)) };
        self.children.truncate(stop);
        self.children.drain(..place(start).min(stop));
        self.children
    }
}

/// The keys of at most `limit` children of each kind of each job, which are given by their whole keys.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn keys_of_children(link: &Link, jobs: &[String], limit: u64) -> Result<Vec<Vec<String>>> {
    const KINDS: [Kind; 4] = [Kind::Processed, Kind::Unprocessed, Kind::Ignored, Kind::Failed];
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let reads: Vec<Cmd> = jobs.iter().flat_map(|job| KINDS.map(|kind| kind.page(job, 0, limit))).collect();
    let mut replies = ask(link, &reads).await?.into_iter();
    let mut found = Vec::with_capacity(jobs.len());
    for _ in jobs {
        let mut distinct = Distinct::default();
        for (kind, reply) in KINDS.into_iter().zip(replies.by_ref()) {
            let (_, members) = kind.read_page(reply, 0, limit)?;
            members.into_iter().take(most).for_each(|child| distinct.put(child));
        }
        found.push(distinct.children.into_iter().map(|(key, _)| key).collect());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(start: i64, end: i64) -> String {
        let mut found = Distinct::default();
        for key in ["a", "b", "a", "c", "d"] {
            found.put((key.to_owned(), None));
        }
        found.slice(start, end).into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn a_range_counts_each_child_once_and_may_count_from_the_end() {
        let ranges =
            [(0, -1, "abcd"), (0, 0, "a"), (1, 2, "bc"), (-2, -1, "cd"), (0, -2, "abc"), (3, 9, "d"), (2, 1, "")];
        for (start, end, expected) in ranges {
            assert_eq!(slice(start, end), expected, "{start} {end}");
        }
    }
}
