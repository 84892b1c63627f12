//! Job schedulers: create them, update them, and add the job that follows.

use crate::connection::Link;
use crate::error::Result;
use crate::protocol::schedule::{IterationOptions, Repeat};
use crate::protocol::{JobRecord, Keys};
use crate::scripts::add::{self, NewScheduler, NextIteration};
use serde_json::{json, Map, Value};

/// The members of the repeat options that the scheduler's hash keeps.
const KEPT: [&str; 7] = ["tz", "dst", "limit", "pattern", "startDate", "endDate", "every"];

/// A job scheduler to create or update, and the template of its jobs.
#[derive(Clone, Debug)]
pub struct Scheduler {
    pub id: String,
    /// BullMQ's repeat options without `immediately`; dates in ms.
    pub repeat: Map<String, Value>,
    /// The first job of a cron pattern runs now.
    pub immediately: bool,
    pub name: String,
    /// JSON.
    pub data: Vec<u8>,
    /// With the names that are stored.
    pub opts: Map<String, Value>,
    /// The `tm` of the next job; the template has none.
    pub metadata: Option<Value>,
}

/// The next job of a scheduler that was created or updated.
#[derive(Clone, Debug)]
pub struct Scheduled {
    pub job_id: String,
    /// The fields that are known without reading the job: `timestamp`, `delay`, `priority` and `opts`.
    pub timestamp: i64,
    pub delay: i64,
    pub priority: i64,
    pub opts: String,
}

/// Creates or updates a scheduler; `None`, and nothing done, when its schedule is over.
///
/// # Errors
/// [`crate::error::Error::Code`] -10, -11; [`crate::error::Error::InvalidOption`] for a pattern or zone that cannot be
/// read.
pub async fn upsert_job_scheduler(
    link: &Link,
    keys: &Keys,
    now: i64,
    scheduler: &Scheduler,
) -> Result<Option<Scheduled>> {
    let rule = Repeat::read(&scheduler.repeat);
    // A first job that runs now is added even if the pattern does not fire again before the end.
    let first = Repeat { end_date: rule.end_date.filter(|_| !scheduler.immediately), ..rule.clone() };
    let Some(iteration) = first.next(now, None)? else { return Ok(None) };
    let mut opts = scheduler.opts.clone();
    if let Some(metadata) = &scheduler.metadata {
        opts.insert("tm".to_owned(), metadata.clone());
    }
    let opts = IterationOptions::new(opts, scheduler.repeat.clone(), &scheduler.id, now, iteration.count);
    let new = NewScheduler {
        id: &scheduler.id,
        cron_next: iteration.cron_next.map(|next| if scheduler.immediately { now } else { next }),
        every: rule.every,
        start_date: rule.start_date,
        name: &scheduler.name,
        data: &scheduler.data,
        opts: &opts.json,
        priority: opts.priority,
        lifo: opts.lifo,
        deduplication_id: opts.deduplication_id.as_deref(),
        fields: &fields(scheduler),
    };
    let (job_id, delay) = add::add_job_scheduler(link, keys, now, &new).await?;
    let priority = opts.priority;
    Ok(Some(Scheduled { job_id, timestamp: now, delay, priority, opts: opts.json }))
}

/// A job of a scheduler, after which the next one is to be added.
#[derive(Clone, Debug)]
pub struct LatestJob<'a> {
    pub scheduler_id: &'a str,
    pub job_id: &'a str,
    pub name: &'a str,
    /// JSON.
    pub data: &'a [u8],
    pub opts: Map<String, Value>,
}

/// Adds the job that follows, unless that was done before. Returns its id; `None` when no job follows.
///
/// # Errors
/// [`crate::error::Error::InvalidOption`] for a pattern or zone that cannot be read.
pub async fn add_scheduler_iteration(
    link: &Link,
    keys: &Keys,
    now: i64,
    latest: LatestJob<'_>,
) -> Result<Option<String>> {
    let mut opts = latest.opts;
    let Some(Value::Object(repeat)) = opts.get("repeat").cloned() else { return Ok(None) };
    let rule = Repeat::read(&repeat);
    let previous = opts.get("prevMillis").and_then(Value::as_i64);
    let Some(iteration) = rule.next(now, previous)? else { return Ok(None) };
    // As Node's Job class stores these options.
    opts.entry("attempts").or_insert_with(|| 0.into());
    if let Some(delay) = opts.get("backoff").filter(|backoff| backoff.is_number()).cloned() {
        opts.insert("backoff".to_owned(), json!({"type": "fixed", "delay": delay}));
    }
    let opts = IterationOptions::new(opts, repeat, latest.scheduler_id, now, iteration.count);
    let next = NextIteration {
        scheduler_id: latest.scheduler_id,
        producer_id: latest.job_id,
        cron_next: iteration.cron_next,
        every: rule.every,
        name: latest.name,
        data: latest.data,
        opts: &opts.json,
        priority: opts.priority,
        lifo: opts.lifo,
        deduplication_id: opts.deduplication_id.as_deref(),
    };
    add::add_scheduler_iteration(link, keys, now, &next).await
}

/// Reads the template of a scheduler from its hash: the options of job number `count` of its series.
#[must_use]
pub fn template(fields: &JobRecord, count: i64) -> Map<String, Value> {
    let mut repeat = Map::new();
    for name in KEPT {
        let Some(text) = fields.text(name) else { continue };
        let number = text.parse::<i64>().ok().filter(|_| !matches!(name, "tz" | "dst" | "pattern"));
        let value = number.map_or_else(|| Value::from(text), Value::from);
        repeat.insert(name.to_owned(), value);
    }
    repeat.insert("count".to_owned(), count.into());
    let opts = fields.get("opts").and_then(|json| serde_json::from_slice(json).ok());
    let mut opts: Map<String, Value> = opts.unwrap_or_default();
    opts.insert("repeat".to_owned(), Value::Object(repeat));
    opts
}

fn fields(scheduler: &Scheduler) -> Vec<(&str, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut fields = vec![("name", scheduler.name.clone())];
    let given = |&name: &&'static str| Some((name, text(scheduler.repeat.get(name)?)));
    fields.extend(KEPT.iter().filter_map(given));
    if !scheduler.opts.is_empty() {
        fields.push(("opts", Value::Object(scheduler.opts.clone()).to_string()));
    }
    if scheduler.data != b"{}" {
        fields.push(("data", String::from_utf8_lossy(&scheduler.data).into_owned()));
    }
    fields
}
