//! Finished jobs in the order of time.

use redis::Cmd;

use super::{ask, command};
use crate::connection::Link;
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// A state, and a time in ms after which and up to which jobs finished; without one there is no bound.
pub type Span = (String, Option<i64>, Option<i64>);

/// How many jobs finished in each span.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn count_finished(link: &Link, keys: &Keys, spans: &[Span]) -> Result<Vec<i64>> {
    let read = |(state, after, until): &Span| {
        let after = after.map_or_else(|| "-inf".to_owned(), |after| format!("({after}"));
        let until = until.map_or_else(|| "+inf".to_owned(), |until| until.to_string());
        command("ZCOUNT", &[&keys.of(state), &after, &until])
    };
    let reads: Vec<Cmd> = spans.iter().map(read).collect();
    ask(link, &reads).await?.into_iter().map(reply::integer).collect()
}

/// When the jobs at these places of these states finished, the earliest first; -1 is the last place. `None` where no
/// job is.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn times_of_finished(link: &Link, keys: &Keys, places: &[(String, i64)]) -> Result<Vec<Option<f64>>> {
    let read = |(state, place): &(String, i64)| {
        let place = place.to_string();
        command("ZRANGE", &[&keys.of(state), &place, &place, "WITHSCORES"])
    };
    let reads: Vec<Cmd> = places.iter().map(read).collect();
    let times = ask(link, &reads).await?.into_iter().map(|found| Ok(reply::scored(found)?.pop().map(|(_, at)| at)));
    times.collect()
}
