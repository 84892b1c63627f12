//! Many queues in a line each: how many jobs are in which state, and what is due.

use redis::{Cmd, Value};

use super::due_work::{due_work_of, DueWork};
use super::{command, counts};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{reply, Keys};

/// One queue of many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    pub active: i64,
    pub delayed: i64,
    pub waiting_children: i64,
    pub completed: i64,
    pub failed: i64,
    /// How many of those that failed did so lately.
    pub failed_lately: i64,
    pub work: DueWork,
}

/// Looks at many queues of one server: in one round trip, one more for those that have more than completed jobs, and two
/// more for those where jobs wait or run. Jobs that failed after `lately` have failed lately. `None` for a queue that
/// another server of the cluster has; an error reply is that of its queue alone.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn overviews(link: &Link, queues: &[Keys], now: i64, lately: i64) -> Result<Vec<Option<Result<Overview>>>> {
    let slot = if link.ready().await?.cluster { link.endpoint().slot() } else { None };
    let is_here = |keys: &Keys| slot.is_none_or(|slot| slot == keys.slot());
    let asked: Vec<&Keys> = queues.iter().filter(|keys| is_here(keys)).collect();
    let mut found = ask_all(link, &asked, first_look, read_first).await?;
    let looked_at = asked.iter().zip(&mut found);
    let filled = looked_at.filter_map(|(keys, found)| found.as_mut().ok()?.1.then_some((keys, found)));
    let (filled, places): (Vec<&Keys>, Vec<&mut Result<First>>) = filled.unzip();
    let counts = ask_all(link, &filled, |keys| second_look(keys, lately), read_second).await?;
    for (place, counts) in places.into_iter().zip(counts) {
        match (place.as_mut(), counts) {
            (Ok((overview, _)), Ok(counts)) => overview.fill(&counts),
            (_, Err(error)) => *place = Err(error),
            (Err(_), Ok(_)) => {}
        }
    }

    let mut found: Vec<Result<Overview>> = found.into_iter().map(|found| found.map(|(overview, _)| overview)).collect();
    let mut open = asked.into_iter().zip(&mut found).filter_map(|(keys, found)| {
        let overview = found.as_ref().ok()?;
        (overview.work.waiting + overview.delayed + overview.active > 0).then_some((keys, found))
    });
    let (working, places): (Vec<&Keys>, Vec<&mut Result<Overview>>) = open.by_ref().unzip();
    for (place, work) in places.into_iter().zip(due_work_of(link, &working, now, None).await?) {
        match (place.as_mut(), work) {
            (Ok(overview), Ok(work)) => overview.work = work,
            (_, Err(error)) => *place = Err(error),
            (Err(_), Ok(_)) => {}
        }
    }
    let mut found = found.into_iter();
    Ok(queues.iter().map(|keys| if is_here(keys) { found.next() } else { None }).collect())
}

/// Asks the same of many queues in one round trip.
async fn ask_all<const N: usize, T>(
    link: &Link,
    queues: &[&Keys],
    reads: impl Fn(&Keys) -> [Cmd; N],
    read: impl Fn([Value; N]) -> Result<T>,
) -> Result<Vec<Result<T>>> {
    if queues.is_empty() {
        return Ok(Vec::new());
    }
    let commands: Vec<Cmd> = queues.iter().flat_map(|keys| reads(keys)).collect();
    let mut replies = link.pipeline(&commands, Retry::Look).await?.into_iter();
    let of_queue = |_: &&Keys| {
        let found: Vec<Value> = replies.by_ref().take(N).collect::<Vec<_>>().into_iter().collect::<Result<_>>()?;
        read(found.try_into().map_err(|_| Error::Closed)?)
    };
    Ok(queues.iter().map(of_queue).collect())
}

/// The states that an idle queue does not have. Jobs stay in the other ones.
const PASSING: [&str; 6] = ["wait", "paused", "prioritized", "active", "delayed", "waiting-children"];

/// Most of many queues are idle: one command finds it out.
fn first_look(keys: &Keys) -> [Cmd; 4] {
    [
        command("HMGET", &[keys.meta(), "paused", "concurrency", "max", "duration"]),
        command("EXISTS", &PASSING.map(|state| keys.of(state))),
        counts::size(keys, "completed"),
        counts::size(keys, "failed"),
    ]
}

/// What a first look has found, and whether the queue has jobs in other states than completed.
type First = (Overview, bool);

fn read_first([settings, passing, completed, failed]: [Value; 4]) -> Result<First> {
    let settings = reply::per_member(4, settings)?;
    let setting = |at: usize| settings[at].as_deref().and_then(reply::whole).map(|number| number as i64);
    let (completed, failed) = (reply::integer(completed)?, reply::integer(failed)?);
    let work = DueWork {
        paused: settings[0].is_some(),
        slots: setting(1),
        rate: setting(2).zip(setting(3)),
        ..DueWork::default()
    };
    let is_filled = reply::integer(passing)? > 0 || failed > 0;
    Ok((Overview { completed, failed, work, ..Overview::default() }, is_filled))
}

fn second_look(keys: &Keys, lately: i64) -> [Cmd; 7] {
    let [wait, paused, prioritized, active, delayed, waiting_children] = PASSING.map(|state| counts::size(keys, state));
    let failed_lately = command("ZCOUNT", &[&keys.of("failed"), &format!("({lately}"), "+inf"]);
    [failed_lately, wait, paused, prioritized, active, delayed, waiting_children]
}

fn read_second(counts: [Value; 7]) -> Result<[i64; 7]> {
    let counts: Vec<i64> = counts.into_iter().map(reply::integer).collect::<Result<_>>()?;
    counts.try_into().map_err(|_| Error::Closed)
}

impl Overview {
    /// Of what is due it has what is true if no job waits.
    fn fill(&mut self, counts: &[i64; 7]) {
        let [failed_lately, wait, paused, prioritized, active, delayed, waiting_children] = *counts;
        (self.active, self.delayed, self.waiting_children) = (active, delayed, waiting_children);
        self.failed_lately = failed_lately;
        self.work.limited = self.work.slots.is_some_and(|slots| active >= slots);
        (self.work.active, self.work.waiting) = (active, wait + paused + prioritized);
    }
}
