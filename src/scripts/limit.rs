//! Named limits: `lua/limit`. Their keys are those of [`Keys::home`].

use redis::Value;

use super::{eval, lua, Call};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{reply, Keys};

/// A limit that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Under which it was set.
    pub name: String,
    /// What its keys are called: the name, with the value for which it holds.
    pub key: String,
}

/// What came of [`take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// At this time, in ms since 1970 by the clock of Redis.
    At(i64),
    /// A rate is used up, or a limit is held, for so many ms. `limit` is its place in the call.
    Later { ms: i64, limit: usize },
    /// All slots of a limit are taken; its rates allow it after so many ms.
    Full { ms: i64, limit: usize },
    /// The cost is more than a window of this limit ever allows.
    Never { most: i64, limit: usize },
}

/// Takes a grant of limits: all, or none. The same grant is taken once, so the call can be sent again.
///
/// # Errors
/// What [`eval`] returns.
pub async fn take(link: &Link, home: &Keys, grant: &str, lease_ms: i64, limits: &[(Named, i64)]) -> Result<Taken> {
    let mut call = Call::new(&lua::limit::TAKE, home);
    call.arg("").arg(grant).arg(lease_ms);
    for (Named { name, key }, cost) in limits {
        call.arg(name).arg(key).arg(cost);
    }
    eval(link, &call, Retry::Safe, taken).await
}

fn taken(value: Value) -> Result<Taken> {
    let numbers = reply::array(value)?.into_iter().map(reply::integer).collect::<Result<Vec<_>>>()?;
    let place = |limit: i64| usize::try_from(limit).map_err(|_| Error::Closed);
    match numbers[..] {
        [1, at] => Ok(Taken::At(at)),
        [0, ms, limit, 1] => Ok(Taken::Later { ms, limit: place(limit)? }),
        [0, ms, limit, 2] => Ok(Taken::Full { ms, limit: place(limit)? }),
        [-1, most, limit, 0] => Ok(Taken::Never { most, limit: place(limit)? }),
        _ => Err(Error::Closed),
    }
}

/// Settles a grant: for each limit the cost that was used. False if it was settled before, or its lease is over.
///
/// # Errors
/// What [`eval`] returns.
pub async fn spend(link: &Link, home: &Keys, grant: &str, limits: &[(Named, i64)]) -> Result<bool> {
    let mut call = Call::new(&lua::limit::SPEND, home);
    call.arg("").arg(grant);
    for (Named { name, key }, used) in limits {
        call.arg(name).arg(key).arg(used);
    }
    eval(link, &call, Retry::Safe, reply::yes).await
}

/// Lets nobody take these limits for a while. Returns how many of them somebody has set.
///
/// # Errors
/// What [`eval`] returns.
pub async fn hold(link: &Link, home: &Keys, ms: i64, limits: &[Named]) -> Result<i64> {
    let mut call = Call::new(&lua::limit::HOLD, home);
    call.arg(ms);
    for Named { name, key } in limits {
        call.arg(name).arg(key);
    }
    eval(link, &call, Retry::Safe, reply::integer).await
}

/// How much of a limit is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// How it was set, as JSON; `None` if nobody has set it.
    pub settings: Option<String>,
    /// For how many ms it is held.
    pub held_ms: i64,
    /// How many hold a slot of its concurrency.
    pub holders: i64,
    /// How much of each rate is used, in their order.
    pub used: Vec<i64>,
}

/// Reads how much of limits is used.
///
/// # Errors
/// What [`eval`] returns.
pub async fn get_usage(link: &Link, home: &Keys, limits: &[Named]) -> Result<Vec<Usage>> {
    let mut call = Call::new(&lua::limit::GET_USAGE, home);
    call.arg("");
    for Named { name, key } in limits {
        call.arg(name).arg(key);
    }
    let read = |value| reply::exactly(limits.len(), value)?.into_iter().map(usage).collect();
    eval(link, &call, Retry::Look, read).await
}

fn usage(value: Value) -> Result<Usage> {
    let mut parts = reply::array(value)?.into_iter();
    let mut next = || parts.next().ok_or(Error::Closed);
    let settings = reply::text(next()?)?;
    let (held_ms, holders) = (reply::integer(next()?)?, reply::integer(next()?)?);
    let used = parts.map(reply::integer).collect::<Result<_>>()?;
    Ok(Usage { settings: (!settings.is_empty()).then_some(settings), held_ms, holders, used })
}
