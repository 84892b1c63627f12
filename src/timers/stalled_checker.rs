//! Puts jobs back to wait whose worker stopped renewing their locks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clock::now_ms;
use crate::connection::Link;
use crate::error::Result;
use crate::error_once::ErrorOnce;
use crate::protocol::{Channel, Keys};
use crate::scripts::lock::{move_stalled_jobs_to_wait, StalledPlan};

/// Jobs per script call; the others stay marked for the next call.
const LIMIT: usize = 500;
/// Pause after a failed pass, as in BullMQ.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// More skipped passes than these are reported, when there were that many in all.
const MANY_PERCENT: u64 = 10;
const ENOUGH_PASSES: u64 = 10;

/// When a job has stalled, and what becomes of it.
#[derive(Clone, Copy, Debug)]
pub struct StalledRule {
    /// How often a job may stall before it fails.
    pub max_stalled_count: i64,
    /// The time between two passes over a queue.
    pub interval: Duration,
    /// Wakes a worker for each job that was put back.
    pub fan_out: bool,
}

pub struct StalledChecker {
    pub link: Link,
    pub keys: Keys,
    pub rule: StalledRule,
    /// Passes that were skipped because the one before was still running.
    pub skipped: Arc<AtomicU64>,
}

impl StalledChecker {
    /// Run until dropped: one pass at once, then one per interval. `stalled` gets the ids of jobs that were put back;
    /// `late` gets, once, how many percent of the passes were skipped, if these are many.
    pub async fn run(
        self,
        mut stalled: impl FnMut(Vec<String>),
        late: impl FnOnce(u64),
        mut failed: impl FnMut(String),
    ) {
        let errors = ErrorOnce::default();
        let (mut passes, mut late) = (0, Some(late));
        loop {
            let started = Instant::now();
            let mut pause = self.jittered();
            match pass(&self.link, &self.keys, self.rule, &mut stalled).await {
                Ok(()) => {
                    errors.ends();
                    let missed = started.elapsed().as_millis() / self.rule.interval.as_millis().max(1);
                    let missed = u64::try_from(missed).unwrap_or(0);
                    let skipped = self.skipped.fetch_add(missed, Ordering::Relaxed) + missed;
                    passes += 1;
                    let percent = 100 * skipped / (skipped + passes);
                    if percent > MANY_PERCENT && skipped + passes >= ENOUGH_PASSES {
                        late.take().into_iter().for_each(|late| late(percent));
                    }
                }
                Err(error) => {
                    if errors.begins(&error) {
                        failed(format!("stalled check failed: {error}"));
                    }
                    pause = pause.min(AFTER_ERROR);
                }
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// The interval plus up to 10 %, so that workers that started together do not check at the same time.
    fn jittered(&self) -> Duration {
        self.rule.interval.mul_f64(1.0 + fastrand::f64() / 10.0)
    }
}

/// One pass, unless another worker made one within the interval. `stalled` gets the ids of the jobs that were put back.
/// Their workers get a message.
///
/// # Errors
/// What [`move_stalled_jobs_to_wait`] returns.
pub async fn pass(link: &Link, keys: &Keys, rule: StalledRule, mut stalled: impl FnMut(Vec<String>)) -> Result<()> {
    let StalledRule { max_stalled_count, interval, fan_out } = rule;
    let stalled_interval = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
    let plan = StalledPlan { max_stalled_count, stalled_interval, limit: LIMIT, fan_out };
    let mut continued = false;
    loop {
        let (more, ids) = move_stalled_jobs_to_wait(link, keys, now_ms(), plan, continued).await?;
        if !ids.is_empty() {
            let messages: Vec<String> = ids.iter().map(|id| format!("{}:{id}", keys.name())).collect();
            stalled(ids);
            link.publish_hints(&Channel::Owls.of(keys.prefix()), messages).await;
        }
        if !more {
            return Ok(());
        }
        continued = true;
    }
}
