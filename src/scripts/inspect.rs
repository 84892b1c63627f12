//! Getters: `lua/inspect`.

use std::time::Duration;

use super::call::{eval_timed, is_noscript};
use super::{eval, eval_all, flag, lua, Call};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{reply, Keys};

/// Counts the jobs of each type, in the order asked. Types are BullMQ's key names (`wait`, `active`...).
///
/// # Errors
/// What [`eval`] returns.
pub async fn get_counts(link: &Link, keys: &Keys, types: &[&str]) -> Result<Vec<i64>> {
    let mut call = Call::new(&lua::inspect::GET_COUNTS, keys);
    call.arg(types);
    let read = |reply| reply::exactly(types.len(), reply)?.into_iter().map(reply::integer).collect();
    eval(link, &call, Retry::Look, read).await
}

/// Counts the jobs of each type in several queues, in one round trip; see [`get_counts`].
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn count_each(link: &Link, queues: &[Keys], types: &[&str]) -> Result<Vec<Vec<i64>>> {
    let call = |keys: &Keys| {
        let mut call = Call::new(&lua::inspect::GET_COUNTS, keys);
        call.arg(types);
        call
    };
    let calls: Vec<Call> = queues.iter().map(call).collect();
    let read = |counts| reply::exactly(types.len(), counts)?.into_iter().map(reply::integer).collect();
    let replies = eval_all(link, &calls, Retry::Look).await?;
    replies.into_iter().map(|reply| link.believe(Retry::Look, reply.and_then(read))).collect()
}

/// Lists the ids of the types between two ranks (inclusive, negative from the end), one type after another, each id
/// once.
///
/// # Errors
/// What [`eval`] returns.
pub async fn get_ranges(
    link: &Link,
    keys: &Keys,
    start: i64,
    end: i64,
    asc: bool,
    types: &[&str],
) -> Result<Vec<String>> {
    let mut call = Call::new(&lua::inspect::GET_RANGES, keys);
    call.arg(start).arg(end).arg(flag(asc)).arg(types);
    eval(link, &call, Retry::Look, reply::texts).await
}

/// What [`get_matches`] looks for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Longer data is not read.
    pub longest: usize,
    /// So many bytes are looked at in the call; the other jobs are left.
    pub most: usize,
    pub fields: &'a [String],
    /// For each field a text that it must have, or "".
    pub texts: &'a [&'a str],
    pub ids: &'a [String],
}

/// Jobs whose fields have the texts, and what it took to find them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// How many of the jobs were looked at.
    pub looked_at: usize,
    /// How many of these have data that is too long.
    pub too_long: usize,
    /// The ids, each with its values of the fields.
    pub jobs: Vec<(String, Vec<Option<Vec<u8>>>)>,
}

/// Reads fields of those jobs whose fields have certain texts. Says for how long Redis was busy with it, too.
///
/// # Errors
/// What [`eval_timed`] returns.
pub async fn get_matches(link: &Link, keys: &Keys, asked: &Asked<'_>) -> Result<(Matches, Duration)> {
    let bytes = asked.ids.iter().map(|id| id.len() + 10).sum();
    let mut call = Call::with_capacity(&lua::inspect::GET_MATCHES, keys, asked.ids.len() + 8, bytes);
    call.arg(asked.longest).arg(asked.most).arg(asked.fields.len());
    for (field, text) in asked.fields.iter().zip(asked.texts) {
        call.arg(field).arg(text);
    }
    call.arg(asked.ids);
    let read = |reply| {
        let mut parts = reply::array(reply)?.into_iter();
        let mut number = || reply::integer(parts.next().ok_or(Error::Closed)?);
        let (looked_at, too_long) = (number()? as usize, number()? as usize);
        let mut jobs = Vec::new();
        while let (Some(id), Some(values)) = (parts.next(), parts.next()) {
            jobs.push((reply::text(id)?, reply::per_member(asked.fields.len(), values)?));
        }
        Ok(Matches { looked_at, too_long, jobs })
    };
    eval_timed(link, &call, Retry::Look, read).await
}

/// Names the state of a job: `completed`, `failed`, `delayed`, `active`, `waiting`... or `unknown`.
///
/// # Errors
/// What [`eval`] returns.
pub async fn get_state(link: &Link, keys: &Keys, id: &str) -> Result<String> {
    let mut call = Call::new(&lua::inspect::GET_STATE, keys);
    call.arg(id);
    eval(link, &call, Retry::Look, reply::text).await
}

/// Whether no job waits, no job is active and no delayed job is due before `now + horizon` (ms).
///
/// # Errors
/// What [`eval`] returns.
pub async fn is_drained(link: &Link, keys: &Keys, now: i64, horizon: i64) -> Result<bool> {
    let mut call = Call::new(&lua::inspect::IS_DRAINED, keys);
    call.arg(now).arg(horizon);
    eval(link, &call, Retry::Look, reply::yes).await
}

/// Finds those of the commands (in lower case, a subcommand after a bar) that the user of the link may not run. One
/// round trip.
///
/// # Errors
/// What [`Link::pipeline`] returns, and the error of the call.
pub async fn find_missing_rights(link: &Link, keys: &Keys, commands: &[&str]) -> Result<Vec<String>> {
    let mut call = Call::new(&lua::inspect::FIND_MISSING_RIGHTS, keys);
    call.arg(commands);
    // Few servers have it: it runs once per worker.
    let mut replies = link.pipeline(&[&call.load(), &*call.for_link(link)], Retry::Safe).await?.into_iter();
    match (replies.next(), replies.next()) {
        (Some(Err(refusal)), Some(Err(error))) if is_noscript(&error) => Err(refusal),
        (_, reply) => reply::texts(reply.unwrap_or(Err(Error::Closed))?),
    }
}
