//! Hints that wake workers: `lua/hint`.

use super::{eval, lua, Call};
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// Whether a member of the marker is one of a fan-out.
#[must_use]
pub fn is_fanned_out(member: &str) -> bool {
    member.starts_with("w:")
}

/// Removes the markers of a fan-out whose jobs have been taken. Returns how many it removed.
///
/// # Errors
/// What [`eval`] returns.
pub async fn sweep_markers(link: &Link, keys: &Keys) -> Result<i64> {
    reply::integer(eval(link, &Call::new(&lua::hint::SWEEP_MARKERS, keys), Retry::Safe).await?)
}

/// Adds to the number of workers that may wake. Returns the number now. Never sent twice.
///
/// # Errors
/// [`crate::error::Error::OutcomeUnknown`] when the reply got lost.
pub async fn provide_wake_hint(link: &Link, keys: &Keys, count: i64) -> Result<i64> {
    let mut call = Call::new(&lua::hint::PROVIDE_WAKE_HINT, keys);
    call.arg(count);
    reply::integer(eval(link, &call, Retry::Never).await?)
}

/// Asks for how many jobs, at most `want`, a worker may wake. Never sent twice.
///
/// # Errors
/// [`crate::error::Error::OutcomeUnknown`] when the reply got lost.
pub async fn consume_wake_hint(link: &Link, keys: &Keys, want: i64) -> Result<i64> {
    let mut call = Call::new(&lua::hint::CONSUME_WAKE_HINT, keys);
    call.arg(want);
    reply::integer(eval(link, &call, Retry::Never).await?)
}
