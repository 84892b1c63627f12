//! Repairs job schedulers without a next job: it was removed, or a client ran it and did not add the one after it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use redis::Cmd;
use serde_json::{Map, Value};

use crate::clock::now_ms;
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::error_once::ErrorOnce;
use crate::protocol::schedule::Repeat;
use crate::protocol::{reply, JobRecord, Keys};
use crate::queue::schedulers::{add_scheduler_iteration, template, LatestJob};

const INTERVAL: Duration = Duration::from_secs(60);
/// A scheduler is checked when its latest job is this late.
const LATE_MS: i64 = 60_000;
/// Only one worker at a time repairs a queue; a little less than the interval.
const LOCK_MS: i64 = 55_000;
/// Schedulers per pass; the next pass continues after them.
const LIMIT: usize = 100;
/// Ids with this many parts belong to repeatable jobs of the oldest format.
const OLDEST_FORMAT_PARTS: usize = 5;

pub struct SchedulerWatchdog {
    pub link: Link,
    pub keys: Keys,
    pub repaired: Arc<AtomicU64>,
}

/// A scheduler whose latest job is missing or finished, although its series is not over.
struct BrokenChain {
    scheduler_id: String,
    job_id: String,
    name: String,
    data: Vec<u8>,
    opts: Map<String, Value>,
}

impl SchedulerWatchdog {
    /// Run until dropped: one pass at once, then one per minute. `repaired` gets the ids of repaired schedulers.
    pub async fn run(self, mut repaired: impl FnMut(String), mut failed: impl FnMut(String)) {
        let (mut skip, errors) = (0, ErrorOnce::default());
        loop {
            match self.pass(skip, &mut repaired).await {
                Ok(next) => {
                    errors.ends();
                    skip = next;
                }
                Err(error) if errors.begins(&error) => failed(format!("could not check job schedulers: {error}")),
                Err(_) => {}
            }
            // Workers that started together must not check at the same time.
            tokio::time::sleep(INTERVAL.mul_f64(0.9 + fastrand::f64() / 5.0)).await;
        }
    }

    /// Check the late schedulers after the first `skip`, and return how many to skip next time.
    async fn pass(&self, skip: usize, repaired: &mut impl FnMut(String)) -> Result<usize> {
        let mut late = redis::cmd("ZRANGEBYSCORE");
        late.arg(self.keys.of("repeat")).arg("-inf").arg(now_ms() - LATE_MS).arg("WITHSCORES");
        late.arg("LIMIT").arg(skip).arg(LIMIT);
        let late = reply::texts(self.link.call(&late, Retry::Safe).await?)?;
        let next = if late.len() < 2 * LIMIT { 0 } else { skip + LIMIT };
        let mut locked = false;
        for broken in self.find_broken(&late).await? {
            if !locked && !self.lock().await? {
                break;
            }
            locked = true;
            if self.repair(&broken).await? {
                self.repaired.fetch_add(1, Ordering::Relaxed);
                repaired(broken.scheduler_id);
            }
        }
        Ok(next)
    }

    async fn find_broken(&self, late: &[String]) -> Result<Vec<BrokenChain>> {
        let found = late.chunks(2).filter_map(|pair| match pair {
            [id, score] if id.split(':').count() < OLDEST_FORMAT_PARTS => Some((id, score.parse::<f64>().ok()? as i64)),
            _ => None,
        });
        let found: Vec<(&String, i64)> = found.collect();
        let read = |key: String| {
            let mut read = redis::cmd("HGETALL");
            read.arg(key);
            read
        };
        let job_id = |id: &str, millis: i64| format!("repeat:{id}:{millis}");
        let reads = found.iter().flat_map(|(id, millis)| {
            [read(self.keys.of(&format!("repeat:{id}"))), read(self.keys.job(&job_id(id, *millis)))]
        });
        let reads: Vec<Cmd> = reads.collect();
        let mut replies = self.link.pipeline(&reads, Retry::Safe).await?.into_iter();
        let mut next = || replies.next().unwrap_or(Err(Error::Closed));
        let mut broken = Vec::new();
        for (id, millis) in found {
            let scheduler = JobRecord::from_flat(id, next()?)?;
            let job = JobRecord::from_flat(&job_id(id, millis), next()?)?;
            broken.extend(BrokenChain::find(&scheduler, &job, millis));
        }
        Ok(broken)
    }

    async fn lock(&self) -> Result<bool> {
        let mut lock = redis::cmd("SET");
        lock.arg(self.keys.of("ext:cronwd")).arg(1).arg("NX").arg("PX").arg(LOCK_MS);
        Ok(self.link.call(&lock, Retry::Never).await? != redis::Value::Nil)
    }

    /// Returns false if somebody else has repaired it meanwhile.
    async fn repair(&self, broken: &BrokenChain) -> Result<bool> {
        let BrokenChain { scheduler_id, job_id, name, data, opts } = broken;
        let latest = LatestJob { scheduler_id, job_id, name, data, opts: opts.clone() };
        Ok(add_scheduler_iteration(&self.link, &self.keys, now_ms(), latest).await?.is_some())
    }
}

impl BrokenChain {
    fn find(scheduler: &JobRecord, job: &JobRecord, millis: i64) -> Option<Self> {
        // Repeatable jobs of a later format have no count until a worker has last_beat them into schedulers.
        let known = scheduler.get("ic").is_some();
        if !known || !(job.is_missing() || job.get("finishedOn").is_some()) {
            return None;
        }
        let opts = if job.is_missing() {
            let mut opts = template(scheduler, scheduler.number("ic"));
            opts.insert("prevMillis".to_owned(), millis.into());
            opts
        } else {
            serde_json::from_slice(job.opts()).ok()?
        };
        // An invalid schedule must not stop the repair of the others.
        Repeat::read(opts.get("repeat")?.as_object()?).next(now_ms(), Some(millis)).ok()??;
        let from = if job.is_missing() { scheduler } else { job };
        let (name, data) = (from.name().into_owned(), from.data().to_vec());
        Some(BrokenChain { scheduler_id: scheduler.id.to_string(), job_id: job.id.to_string(), name, data, opts })
    }
}
