//! Where a job is, and how many jobs start before it.

use redis::{Cmd, Value};

use super::servers::time_of;
use super::{ask_each, command};
use crate::connection::Link;
use crate::error::Result;
use crate::protocol::{due, reply, Keys};

/// So many jobs at the end of a list from which workers take are searched first: it takes Redis about 0.1 ms.
const NEAR: &str = "10000";
/// A job that moves between two commands of a pipeline may be in no place: then it is looked for again.
const LOOKS: usize = 3;

/// A place of a job, as Redis says. Times are in ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The clock of Redis.
    pub now: i64,
    /// `waiting`, `prioritized`, `delayed`, `waiting-children`, `active`, `completed` or `failed`; `None` if the job is
    /// in no list or set.
    pub state: Option<&'static str>,
    /// How many jobs start before it, by the order of the queue; `None` if it does not wait.
    pub ahead: Option<i64>,
    /// When its delay ends.
    pub due: Option<i64>,
    /// For how long its lock holds; -1 for one without an end, `None` without a lock.
    pub lock_ttl: Option<i64>,
    /// How many of its children are open: they have not finished, or have failed and nobody said what then.
    pub open_children: i64,
}

/// Looks where a job is: one round trip, a second one for a job behind 10,000 others.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn place(link: &Link, keys: &Keys, id: &str) -> Result<Place> {
    let mut place = look(link, keys, id).await?;
    for _ in 1..LOOKS {
        if place.state.is_some() {
            break;
        }
        let lists = ["wait", "paused"].map(|name| keys.of(name));
        let far = |key: &String| command("LPOS", &[key.as_str(), id]);
        let length = |key: &String| command("LLEN", &[key]);
        let [wait, held] = &lists;
        let [in_wait, in_held, waiting, paused] =
            ask_each(link, [far(wait), far(held), length(wait), length(held)]).await?;
        let waiting = reply::integer(waiting)? + reply::integer(paused)?;
        if let Some(at) = index(&in_wait).or(index(&in_held)) {
            return Ok(Place { state: Some("waiting"), ahead: Some((waiting - 1 - at).max(0)), ..place });
        }
        place = look(link, keys, id).await?;
    }
    Ok(place)
}

async fn look(link: &Link, keys: &Keys, id: &str) -> Result<Place> {
    let job = keys.job(id);
    let of = |name: &str, command_name: &str| command(command_name, &[keys.of(name).as_str(), id]);
    let near = |name: &str| -> Cmd { command("LPOS", &[keys.of(name).as_str(), id, "RANK", "-1", "MAXLEN", NEAR]) };
    let length = |name: &str| command("LLEN", &[keys.of(name)]);
    let [clock, completed, failed, delayed, rank, active, in_wait, in_held, parent, wait, held, lock, open] = ask_each(
        link,
        [
            redis::cmd("TIME"),
            of("completed", "ZSCORE"),
            of("failed", "ZSCORE"),
            of("delayed", "ZSCORE"),
            of("prioritized", "ZRANK"),
            of("active", "LPOS"),
            near("wait"),
            near("paused"),
            of("waiting-children", "ZSCORE"),
            length("wait"),
            length("paused"),
            command("PTTL", &[format!("{job}:lock")]),
            command("SCARD", &[format!("{job}:dependencies")]),
        ],
    )
    .await?;
    let in_lists = reply::integer(wait)? + reply::integer(held)?;
    let (at, rank) = (index(&in_wait).or(index(&in_held)), index(&rank));
    let states = [
        ("completed", completed != Value::Nil),
        ("failed", failed != Value::Nil),
        ("delayed", delayed != Value::Nil),
        ("prioritized", rank.is_some()),
        ("active", index(&active).is_some()),
        ("waiting", at.is_some()),
        ("waiting-children", parent != Value::Nil),
    ];
    let due = reply::optional(delayed)?.as_deref().and_then(reply::whole).map(due::of_score);
    let lock_ttl = reply::integer(lock)?;
    Ok(Place {
        now: time_of(clock)?,
        state: states.into_iter().find_map(|(state, is_there)| is_there.then_some(state)),
        // Jobs without a priority start first.
        ahead: at.map(|at| (in_lists - 1 - at).max(0)).or(rank.map(|rank| in_lists + rank)),
        due,
        lock_ttl: (lock_ttl != -2).then_some(lock_ttl),
        open_children: reply::integer(open)?,
    })
}

/// A place in a list or a sorted set, counted from 0; `None` if it is not there.
fn index(found: &Value) -> Option<i64> {
    match found {
        Value::Int(at) => Some(*at),
        _ => None,
    }
}
