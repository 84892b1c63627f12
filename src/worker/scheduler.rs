//! Keeps a job scheduler's chain going: its next iteration exists before this one runs.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{json, Value};

use super::held::HeldJob;
use super::outcome::Outcome;
use super::shared::Shared;
use crate::clock::now_ms;
use crate::connection::Link;
use crate::error::{Error, Result};
use crate::protocol::schedule::{IterationOptions, Repeat};
use crate::protocol::Keys;
use crate::scripts::add::{add_scheduler_iteration, NextIteration};

const TRIES: usize = 3;
const BETWEEN_TRIES: Duration = Duration::from_millis(2500);
/// The longest a job waits whose successor could not be made.
const LONGEST_DELAY: i64 = 300_000;

/// Make the job's successor, then hand the job out. A job whose successor cannot be made is delayed, not run: running
/// it would end the chain.
pub async fn produce_next(shared: Arc<Shared>, link: Link, keys: Keys, job: Arc<HeldJob>) {
    let mut tries = 1;
    let error = loop {
        match produce(&link, &keys, &job).await {
            Ok(()) => return shared.hand_out(vec![job]),
            Err(Error::Closed) => return,
            Err(error) if tries < TRIES && !matches!(error, Error::InvalidOption(_)) => {
                tries += 1;
                shared.error(error.to_string());
                tokio::time::sleep(BETWEEN_TRIES).await;
            }
            Err(error) => break error,
        }
    };
    shared.error(format!("Failed to add repeatable job for next iteration: {error}"));
    let delay = delay_instead(&job);
    shared.submit(Outcome::Deferred { job, delay });
}

/// How long a job is put off whose successor could not be made: twice as long each time.
pub fn delay_instead(job: &HeldJob) -> i64 {
    1000_i64.saturating_mul(1 << job.record.ats().clamp(0, 20)).min(LONGEST_DELAY)
}

/// Make the job's successor, if it is a scheduler's job and the series goes on.
pub async fn produce(link: &Link, keys: &Keys, job: &HeldJob) -> Result<()> {
    let record = &job.record;
    let Some(scheduler_id) = record.text("rjk") else { return Ok(()) };
    let Ok(Value::Object(mut opts)) = serde_json::from_slice(record.opts()) else { return Ok(()) };
    let Some(Value::Object(repeat)) = opts.get("repeat").cloned() else { return Ok(()) };
    let previous = opts.get("prevMillis").and_then(Value::as_i64);
    let now = now_ms();
    let rule = Repeat::read(&repeat);
    let Some(iteration) = rule.next(now, previous)? else { return Ok(()) };

    // As Node's Job class stores what it was given.
    opts.entry("attempts").or_insert_with(|| 0.into());
    if let Some(delay) = opts.get("backoff").filter(|backoff| backoff.is_number()).cloned() {
        opts.insert("backoff".to_owned(), json!({"type": "fixed", "delay": delay}));
    }
    let opts = IterationOptions::new(opts, repeat, scheduler_id, now, iteration.count);
    let next = NextIteration {
        scheduler_id,
        producer_id: &record.id,
        cron_next: iteration.cron_next,
        every: rule.every,
        name: record.name(),
        data: record.data(),
        opts: &opts.json,
        priority: opts.priority,
        lifo: opts.lifo,
        deduplication_id: opts.deduplication_id.as_deref(),
    };
    add_scheduler_iteration(link, keys, now, &next).await.map(drop)
}
