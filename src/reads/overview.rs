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

/// Looks at many queues of one server: in one round trip, and two more for those where jobs wait or run. Jobs that
/// failed after `lately` have failed lately. `None` for a queue that another server of the cluster has; an error reply is that
/// of its queue alone.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn overviews(link: &Link, queues: &[Keys], now: i64, lately: i64) -> Result<Vec<Option<Result<Overview>>>> {
    let slot = if link.ready().await?.cluster { link.endpoint().slot() } else { None };
    let is_here = |keys: &Keys| slot.is_none_or(|slot| slot == keys.slot());
    let asked: Vec<&Keys> = queues.iter().filter(|keys| is_here(keys)).collect();
    let commands: Vec<Cmd> = asked.iter().flat_map(|keys| first_look(keys, lately)).collect();
    let mut replies = link.pipeline(&commands, Retry::Look).await?.into_iter();
    let mut found: Vec<Result<Overview>> = asked.iter().map(|_| read(replies.by_ref().take(READS).collect())).collect();

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

/// How many commands a first look takes.
const READS: usize = 10;

fn first_look(keys: &Keys, lately: i64) -> [Cmd; READS] {
    let size = |state| counts::size(keys, state);
    [
        command("HMGET", &[keys.meta(), "paused", "concurrency", "max", "duration"]),
        command("ZCOUNT", &[&keys.of("failed"), &format!("({lately}"), "+inf"]),
        size("wait"),
        size("paused"),
        size("prioritized"),
        size("active"),
        size("delayed"),
        size("waiting-children"),
        size("completed"),
        size("failed"),
    ]
}

/// What a first look has found. Of what is due it has what is true if no job waits.
fn read(replies: Vec<Result<Value>>) -> Result<Overview> {
    let replies: Vec<Value> = replies.into_iter().collect::<Result<_>>()?;
    let [settings, counts @ ..] = <[Value; READS]>::try_from(replies).map_err(|_| Error::Closed)?;
    let settings = reply::per_member(4, settings)?;
    let setting = |at: usize| settings[at].as_deref().and_then(reply::whole).map(|number| number as i64);
    let counts: Vec<i64> = counts.into_iter().map(reply::integer).collect::<Result<_>>()?;
    let [failed_lately, wait, paused, prioritized, active, delayed, waiting_children, completed, failed] = counts[..]
    else {
        return Err(Error::Closed);
    };
    let slots = setting(1);
    let work = DueWork {
        paused: settings[0].is_some(),
        limited: slots.is_some_and(|slots| active >= slots),
        slots,
        rate: setting(2).zip(setting(3)),
        active,
        waiting: wait + paused + prioritized,
        ..DueWork::default()
    };
    Ok(Overview { active, delayed, waiting_children, completed, failed, failed_lately, work })
}
