//! What is due in a queue: whether work waits that may start.

use redis::{Cmd, Value};

use super::command;
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::route::split_name;
use crate::protocol::{due, reply, Keys};

/// `Queue.rate_limit` stores a number of started jobs that no limit reaches.
const LIMITED_BY_HAND: f64 = (1_i64 << 50) as f64;

/// What waits in a queue, as Redis says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueWork {
    pub paused: bool,
    /// The rate limit or the global concurrency lets no job start now.
    pub limited: bool,
    /// Perhaps a rate limit lets no job start now: only the workers know it, and one has begun a period of it.
    pub limited_by_workers: bool,
    /// The global concurrency: so many jobs may be active over all workers.
    pub slots: Option<i64>,
    /// The global rate limit: so many starts per so many ms.
    pub rate: Option<(i64, i64)>,
    /// For how many ms the current period of a rate limit lasts; `None` outside one.
    pub period_left: Option<i64>,
    /// So many jobs have started in it that no other one may.
    pub rate_reached: bool,
    /// How many jobs run, on all workers.
    pub active: i64,
    /// The job that was taken first has no lock any more: its worker has probably died.
    pub abandoned: bool,
    /// How many jobs wait for a worker, also while the queue is paused; without delayed ones.
    pub waiting: i64,
    /// The job that has been due the longest; `None` if none is due.
    pub oldest_id: Option<String>,
    /// For how many ms it has been due; `None` if nobody knows, since its hash is gone.
    pub oldest_age: Option<i64>,
    /// How many ms ago a job started or finished, on any worker; `None` if Redis does not know.
    pub last_start_age: Option<i64>,
}

/// Asks what is due, in two round trips. `most`: the `max` of the worker's limiter; without it that of the global rate
/// limit counts.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn due_work(link: &Link, keys: &Keys, now: i64, most: Option<i64>) -> Result<DueWork> {
    due_work_of(link, &[keys], now, most).await?.pop().unwrap_or(Err(Error::Closed))
}

/// As [`due_work`], for several queues of one server in the same two round trips. An error reply is that of its queue
/// alone.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn due_work_of(link: &Link, queues: &[&Keys], now: i64, most: Option<i64>) -> Result<Vec<Result<DueWork>>> {
    // On a cluster another server may have the queue of a route.
    let is_cluster = link.ready().await?.cluster;
    let is_here = |base: &Keys, keys: &Keys| !is_cluster || base.slot() == keys.slot();
    let bases: Vec<Option<Keys>> = queues.iter().map(|keys| base_of(keys).filter(|base| is_here(base, keys))).collect();
    let commands: Vec<Cmd> = queues
        .iter()
        .zip(&bases)
        .flat_map(|(keys, base)| first_look(keys, now).into_iter().chain(base.iter().flat_map(rate_of)))
        .collect();
    let mut replies = link.pipeline(&commands, Retry::Look).await?.into_iter();
    let mut looks: Vec<Result<Look>> = bases
        .iter()
        .map(|base| {
            let own = replies.by_ref().take(READS).collect();
            let shared = base.as_ref().map(|_| replies.by_ref().take(RATE_READS).collect());
            Look::read(own, shared)
        })
        .collect();
    let reads: Vec<Cmd> =
        queues.iter().zip(&looks).flat_map(|(keys, look)| look.iter().flat_map(|look| look.second(keys))).collect();
    let mut replies = link.pipeline(&reads, Retry::Look).await?.into_iter();
    let done = |look: Result<Look>| {
        let look = look?;
        // All of them are taken, also behind an error: the next ones are those of the next queue.
        let second: Vec<Result<Value>> = replies.by_ref().take(look.second_reads()).collect();
        look.due_work(second.into_iter().collect::<Result<_>>()?, now, most)
    };
    Ok(looks.drain(..).map(done).collect())
}

/// The queue of a route: perhaps its workers count the jobs of the route for its rate limit.
fn base_of(keys: &Keys) -> Option<Keys> {
    let (base, _) = split_name(keys.name())?;
    Keys::new(keys.prefix(), base).ok()
}

/// How many commands ask for the rate limit of a queue.
const RATE_READS: usize = 3;

fn rate_of(keys: &Keys) -> [Cmd; RATE_READS] {
    let limiter = keys.of("limiter");
    [command("HGET", &[keys.meta(), "max"]), command("GET", &[&limiter]), command("PTTL", &[&limiter])]
}

/// Whether the rate limit of a queue lets no job start now, or perhaps none, since only its workers know it.
fn may_be_reached(replies: Vec<Result<Value>>) -> Result<bool> {
    let replies: Vec<Value> = replies.into_iter().collect::<Result<_>>()?;
    let [most, started, period] = <[Value; RATE_READS]>::try_from(replies).map_err(|_| Error::Closed)?;
    let number = |value| Ok::<_, Error>(reply::optional(value)?.as_deref().and_then(reply::whole).unwrap_or(0.0));
    let (most, started) = (number(most)?, number(started)?);
    Ok(reply::integer(period)? > 0 && started > 0.0 && started >= most)
}

/// How many commands a first look takes.
const READS: usize = 14;

fn first_look(keys: &Keys, now: i64) -> [Cmd; READS] {
    let last = due::last_score(now).to_string();
    let [meta, wait, prioritized, delayed, active] =
        ["meta", "wait", "prioritized", "delayed", "active"].map(|name| keys.of(name));
    let [limiter, completed, failed, paused] = ["limiter", "completed", "failed", "paused"].map(|name| keys.of(name));
    [
        command("HMGET", &[&meta, "paused", "concurrency", "max", "duration"]),
        command("LINDEX", &[&wait, "-1"]),
        command("ZRANGE", &[&prioritized, "0", "0"]),
        command("ZRANGEBYSCORE", &[&delayed, "-inf", &last, "WITHSCORES", "LIMIT", "0", "1"]),
        command("LLEN", &[&active]),
        command("LINDEX", &[&active, "0"]),
        command("LINDEX", &[&active, "-1"]),
        command("GET", &[&limiter]),
        command("PTTL", &[&limiter]),
        command("ZREVRANGE", &[&completed, "0", "0", "WITHSCORES"]),
        command("ZREVRANGE", &[&failed, "0", "0", "WITHSCORES"]),
        command("LLEN", &[&wait]),
        command("LLEN", &[&paused]),
        command("ZCARD", &[&prioritized]),
    ]
}

/// What the first look at a queue has found.
struct Look {
    settings: Vec<Option<Vec<u8>>>,
    /// The jobs that are next in `wait` and in `prioritized`.
    next: Vec<String>,
    /// The delayed job that has been due the longest.
    due: Option<(String, f64)>,
    /// The job that started last.
    running: Option<String>,
    /// The one that was taken first.
    oldest: Option<String>,
    active: i64,
    waiting: i64,
    started: Option<Vec<u8>>,
    period: i64,
    /// When jobs finished last.
    finished: Vec<i64>,
    /// Of a route: perhaps the rate limit of its queue lets no job start now, if its workers share it.
    is_limited_by_base: bool,
}

impl Look {
    /// `shared`: what [`rate_of`] has asked about the queue of a route.
    fn read(replies: Vec<Result<Value>>, shared: Option<Vec<Result<Value>>>) -> Result<Self> {
        // Who may not read the queue of the route, or cannot, learns about the route all the same.
        let is_limited_by_base = shared.is_some_and(|replies| may_be_reached(replies).unwrap_or(false));
        let replies: Vec<Value> = replies.into_iter().collect::<Result<_>>()?;
        let replies: [Value; READS] = replies.try_into().map_err(|_| Error::Closed)?;
        let [settings, waiting, ranked, delayed, active, running, oldest, started, period, completed, failed, wait, paused, prioritized] =
            replies;
        let text = |value: Value| if value == Value::Nil { Ok(None) } else { reply::text(value).map(Some) };
        let mut finished = Vec::new();
        for newest in [completed, failed] {
            finished.extend(reply::scored(newest)?.into_iter().map(|(_, at)| at as i64));
        }
        Ok(Look {
            settings: reply::per_member(4, settings)?,
            next: text(waiting)?.into_iter().chain(reply::texts(ranked)?.into_iter().next()).collect(),
            due: reply::scored(delayed)?.into_iter().next(),
            running: text(running)?,
            oldest: text(oldest)?,
            active: reply::integer(active)?,
            waiting: reply::integer(wait)? + reply::integer(paused)? + reply::integer(prioritized)?,
            started: reply::optional(started)?,
            period: reply::integer(period)?,
            finished,
            is_limited_by_base,
        })
    }

    /// What is asked then: the times of the jobs that are next and of the one that started last, and the lock of the one
    /// that was taken first.
    fn second<'a>(&'a self, keys: &'a Keys) -> impl Iterator<Item = Cmd> + 'a {
        let times = self.next.iter().chain(&self.running);
        let times = times.map(|id| command("HMGET", &[&keys.job(id), "timestamp", "processedOn", "opts"]));
        times.chain(self.oldest.iter().map(|id| command("EXISTS", &[&keys.of(&format!("{id}:lock"))])))
    }

    fn second_reads(&self) -> usize {
        self.next.len() + usize::from(self.running.is_some()) + usize::from(self.oldest.is_some())
    }

    /// `second`: the replies to [`Look::second`].
    fn due_work(self, mut second: Vec<Value>, now: i64, most: Option<i64>) -> Result<DueWork> {
        let lock = if self.oldest.is_some() { second.pop() } else { None };
        let abandoned = lock.is_some_and(|lock| lock == Value::Int(0));
        let times = second.into_iter().map(Times::read).collect::<Result<Vec<_>>>()?;
        let number = |text: &Option<Vec<u8>>| text.as_deref().and_then(reply::whole);
        let mut starts = self.finished;
        if self.running.is_some() {
            // A job without a hash has just ended, and was removed.
            starts.push(times.last().map_or(now, |times| if times.due_since.is_some() { times.started } else { now }));
        }
        let mut due: Vec<(String, Option<i64>)> =
            self.next.into_iter().zip(times.iter().map(|times| times.due_since)).collect();
        due.extend(self.due.map(|(id, score)| (id, Some(due::of_score(score)))));
        let oldest =
            due.iter().filter(|(_, since)| since.is_some()).min_by_key(|(_, since)| *since).or(due.first()).cloned();
        let limit = most.map(|most| most as f64).or(number(&self.settings[2])).filter(|limit| *limit != 0.0);
        let started = if self.period > 0 { number(&self.started).unwrap_or(0.0) } else { 0.0 };
        let setting = |at: usize| number(&self.settings[at]).map(|number| number as i64);
        let (oldest_id, since) = oldest.unzip();
        let rate_reached = started >= limit.unwrap_or(LIMITED_BY_HAND);
        Ok(DueWork {
            paused: self.settings[0].is_some(),
            limited: number(&self.settings[1]).is_some_and(|slots| self.active as f64 >= slots) || rate_reached,
            slots: setting(1),
            rate: setting(2).zip(setting(3)),
            period_left: (self.period > 0).then_some(self.period),
            rate_reached,
            limited_by_workers: self.is_limited_by_base
                || most.is_none() && number(&self.settings[2]).is_none() && started > 0.0,
            active: self.active,
            abandoned,
            waiting: self.waiting,
            oldest_id,
            oldest_age: since.flatten().map(|since| now.saturating_sub(since).max(0)),
            last_start_age: starts.into_iter().max().map(|last| now.saturating_sub(last).max(0)),
        })
    }
}

/// The times of a job.
struct Times {
    /// Since when it may run; `None` without a hash.
    due_since: Option<i64>,
    /// When it started last; 0 if it never did.
    started: i64,
}

impl Times {
    fn read(fields: Value) -> Result<Self> {
        let fields = reply::per_member(3, fields)?;
        let started = fields[1].as_deref().and_then(reply::whole).map_or(0, |at| at as i64);
        Ok(Times { due_since: since(&fields), started })
    }
}

/// Since when a job that waits may run, by its `timestamp`, `processedOn` and `opts`; `None` without a hash.
pub(crate) fn since(fields: &[Option<Vec<u8>>]) -> Option<i64> {
    let text = |at: usize| fields.get(at)?.as_deref().map(String::from_utf8_lossy);
    let (added, started, opts) = (text(0), text(1), text(2));
    let is_there = added.is_some() || started.is_some();
    is_there.then(|| due::since(added.as_deref(), started.as_deref(), opts.as_deref()))
}
