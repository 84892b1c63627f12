//! Repairs job schedulers whose chain was cut: whose next job was removed, or ran at a client that made none after it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use redis::Cmd;
use serde_json::{Map, Value};

use crate::clock::now_ms;
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::schedule::Repeat;
use crate::protocol::{reply, JobRecord, Keys};
use crate::queue::schedulers::{add_scheduler_iteration, template, LatestJob};
use crate::spell::Spell;

const INTERVAL: Duration = Duration::from_secs(60);
/// How late the latest job of a scheduler must be before anybody wonders.
const PATIENCE_MS: i64 = 60_000;
/// One worker at a time repairs a queue; somewhat less than the interval.
const LOCK_MS: i64 = 55_000;
/// Schedulers looked at per pass; the next pass goes on behind them.
const LIMIT: usize = 100;
/// Ids with so many parts belong to repeatables of the oldest form.
const OLDEST_FORM_PARTS: usize = 5;

pub struct SchedulerWatchdog {
    pub link: Link,
    pub keys: Keys,
    pub repaired: Arc<AtomicU64>,
}

/// A scheduler whose latest job is not coming, or has come and gone, although its series is not over.
struct Cut {
    scheduler_id: String,
    job_id: String,
    name: String,
    data: Vec<u8>,
    opts: Map<String, Value>,
}

impl SchedulerWatchdog {
    /// Run until dropped: one pass at once, then one each minute. `repaired` hears the ids of schedulers that go on again.
    pub async fn run(self, mut repaired: impl FnMut(String), mut failed: impl FnMut(String)) {
        let (mut skip, spell) = (0, Spell::default());
        loop {
            match self.pass(skip, &mut repaired).await {
                Ok(next) => {
                    spell.ends();
                    skip = next;
                }
                Err(error) if spell.begins(&error) => failed(format!("could not look after job schedulers: {error}")),
                Err(_) => {}
            }
            // A fleet that started together must not look together.
            tokio::time::sleep(INTERVAL.mul_f64(0.9 + fastrand::f64() / 5.0)).await;
        }
    }

    /// Look at the schedulers behind the first `skip` that are late, and return how many to skip next time.
    async fn pass(&self, skip: usize, repaired: &mut impl FnMut(String)) -> Result<usize> {
        let mut late = redis::cmd("ZRANGEBYSCORE");
        late.arg(self.keys.of("repeat")).arg("-inf").arg(now_ms() - PATIENCE_MS).arg("WITHSCORES");
        late.arg("LIMIT").arg(skip).arg(LIMIT);
        let late = reply::texts(self.link.call(&late, Retry::Safe).await?)?;
        let next = if late.len() < 2 * LIMIT { 0 } else { skip + LIMIT };
        let mut locked = false;
        for cut in self.cut(&late).await? {
            if !locked && !self.lock().await? {
                break;
            }
            locked = true;
            if self.repair(&cut).await? {
                self.repaired.fetch_add(1, Ordering::Relaxed);
                repaired(cut.scheduler_id);
            }
        }
        Ok(next)
    }

    async fn cut(&self, late: &[String]) -> Result<Vec<Cut>> {
        let found = late.chunks(2).filter_map(|pair| match pair {
            [id, score] if id.split(':').count() < OLDEST_FORM_PARTS => Some((id, score.parse::<f64>().ok()? as i64)),
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
        let mut cut = Vec::new();
        for (id, millis) in found {
            let scheduler = JobRecord::from_flat(id, next()?)?;
            let job = JobRecord::from_flat(&job_id(id, millis), next()?)?;
            cut.extend(Cut::find(&scheduler, &job, millis));
        }
        Ok(cut)
    }

    async fn lock(&self) -> Result<bool> {
        let mut lock = redis::cmd("SET");
        lock.arg(self.keys.of("ext:cronwd")).arg(1).arg("NX").arg("PX").arg(LOCK_MS);
        Ok(self.link.call(&lock, Retry::Never).await? != redis::Value::Nil)
    }

    /// Returns whether it was not done by somebody else meanwhile.
    async fn repair(&self, cut: &Cut) -> Result<bool> {
        let Cut { scheduler_id, job_id, name, data, opts } = cut;
        let latest = LatestJob { scheduler_id, job_id, name, data, opts: opts.clone() };
        Ok(add_scheduler_iteration(&self.link, &self.keys, now_ms(), latest).await?.is_some())
    }
}

impl Cut {
    fn find(scheduler: &JobRecord, job: &JobRecord, millis: i64) -> Option<Self> {
        // Repeatables of a later form have no count before a worker made schedulers of them.
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
        // A schedule that nobody can read must not keep the others from being repaired.
        Repeat::read(opts.get("repeat")?.as_object()?).next(now_ms(), Some(millis)).ok()??;
        let from = if job.is_missing() { scheduler } else { job };
        let (name, data) = (from.name().into_owned(), from.data().to_vec());
        Some(Cut { scheduler_id: scheduler.id.to_string(), job_id: job.id.to_string(), name, data, opts })
    }
}
