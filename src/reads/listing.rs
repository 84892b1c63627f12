//! The jobs of a state in the order in which they came, the newest first, and fields of theirs.

use std::time::Duration;

use redis::Cmd;

use super::{ask, command, counts};
use crate::connection::Link;
use crate::error::{Error, Result};
use crate::protocol::{reply, Keys};

/// So often a list is read again that was renamed while it was read: somebody has paused or resumed the queue.
const LOOKS: usize = 3;

/// Some ids of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub ids: Vec<String>,
    /// How many jobs the state has.
    pub total: usize,
}

/// Lists `count` ids behind the first `start` ones of a state, which is one key or several, one behind another.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn newest(link: &Link, keys: &Keys, states: &[&str], start: usize, count: usize) -> Result<Listing> {
    let mut listing = look(link, keys, states, start, count).await?;
    for _ in 1..LOOKS {
        if listing.ids.len() >= count.min(listing.total.saturating_sub(start)) {
            break;
        }
        listing = look(link, keys, states, start, count).await?;
    }
    Ok(listing)
}

async fn look(link: &Link, keys: &Keys, states: &[&str], start: usize, count: usize) -> Result<Listing> {
    let mut listing = Listing::default();
    for state in states {
        // Of the keys before this one so many ids are left out.
        let skipped = start.saturating_sub(listing.total);
        let reads = [counts::size(keys, state), range(keys, state, skipped, count - listing.ids.len())];
        let [size, ids] = <[_; 2]>::try_from(ask(link, &reads).await?).map_err(|_| Error::Closed)?;
        listing.total += usize::try_from(reply::integer(size)?).unwrap_or(0);
        let missing = count - listing.ids.len();
        listing.ids.extend(reply::texts(ids)?.into_iter().take(missing));
    }
    Ok(listing)
}

fn range(keys: &Keys, state: &str, start: usize, count: usize) -> Cmd {
    let mut range = command(if counts::is_list(state) { "LRANGE" } else { "ZREVRANGE" }, &[&keys.of(state)]);
    // -1 would be the last id.
    range.arg(start).arg((start + count.max(1)) - 1);
    range
}

/// For each job the values of these fields of its hash, and how long Redis was busy with them, by its own
/// clock.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn timed_fields(
    link: &Link,
    keys: &Keys,
    ids: &[String],
    fields: &[String],
) -> Result<(Vec<Vec<Option<Vec<u8>>>>, Duration)> {
    let mut reads = vec![redis::cmd("TIME")];
    reads.extend(super::reads_of_fields(keys, ids, fields));
    reads.push(redis::cmd("TIME"));
    let mut replies = ask(link, &reads).await?;
    let micros = |time| -> Result<i64> {
        let parts = reply::exactly(2, time)?.into_iter().map(reply::integer).collect::<Result<Vec<i64>>>()?;
        Ok(parts[0] * 1_000_000 + parts[1])
    };
    let ended = micros(replies.pop().ok_or(Error::Closed)?)?;
    let mut replies = replies.into_iter();
    let began = micros(replies.next().ok_or(Error::Closed)?)?;
    let values = replies.map(|values| reply::per_member(fields.len(), values)).collect::<Result<_>>()?;
    Ok((values, Duration::from_micros(u64::try_from(ended - began).unwrap_or(0))))
}
