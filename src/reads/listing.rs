//! The jobs of a state in the order in which they came, the newest first.

use std::time::Duration;

use redis::Cmd;

use super::{ask_timed, command, counts};
use crate::connection::{Link, Numbers};
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
    /// How long Redis was busy with it, by its own clock.
    pub busy: Duration,
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
        let missing = count - listing.ids.len();
        let reads = vec![counts::size(keys, state), range(keys, state, skipped, missing)];
        let (found, busy) = ask_timed(link, reads, Numbers::Between).await?;
        let [size, ids] = <[_; 2]>::try_from(found).map_err(|_| Error::Closed)?;
        listing.busy += busy;
        listing.total += usize::try_from(reply::integer(size)?).unwrap_or(0);
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
