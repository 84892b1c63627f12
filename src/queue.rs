//! One queue: start-up checks, adding jobs, plain reads and settings.

mod adder;
mod guard;
mod linked;
mod shared;
pub mod schedulers;
mod settings;
mod sweep;

use std::time::Duration;

use redis::{Cmd, ToRedisArgs};
use tokio::sync::OnceCell;

use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{reply, JobBatch, JobRecord, Keys};
use crate::scripts::inspect;

pub use adder::{Added, Adder};
pub use guard::VERSION;
pub use settings::ignored_settings;

/// What a plain rate limit writes: more jobs than any limit allows.
const MANUAL_LIMIT: i64 = 9_007_199_254_740_991;
/// Hashes read per pipeline.
const READ_CHUNK: usize = 250;

/// What a queue handle writes to `meta` when it first adds or changes something.
#[derive(Clone, Copy, Debug)]
pub struct QueueOptions {
    pub max_len_events: i64,
    pub skip_metas_update: bool,
}

impl Default for QueueOptions {
    fn default() -> Self {
        QueueOptions { max_len_events: 10_000, skip_metas_update: false }
    }
}

/// A queue and the links to it. Every call checks the queue first, once per handle; the first write tells what `meta` tells.
pub struct QueueHandle {
    link: Link,
    bulk: Link,
    keys: Keys,
    options: QueueOptions,
    checked: OnceCell<()>,
    introduced: OnceCell<()>,
    single: shared::SharedCalls,
}

impl QueueHandle {
    /// `bulk` carries what takes more than one script call; it may be a clone of `link`.
    #[must_use]
    pub fn new(link: Link, bulk: Link, keys: Keys, options: QueueOptions) -> Self {
        QueueHandle {
            link,
            bulk,
            keys,
            options,
            checked: OnceCell::new(),
            introduced: OnceCell::new(),
            single: shared::SharedCalls::default(),
        }
    }

    #[must_use]
    pub fn link(&self) -> &Link {
        &self.link
    }

    #[must_use]
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Connects and checks that the queue can be used; writes nothing. Free after the first success.
    ///
    /// # Errors
    /// [`Error::LegacyQueue`], [`Error::QueueName`] (no hash tag on a cluster), [`Error::RedisVersion`] and what [`Link::call`]
    /// returns.
    pub async fn ready(&self) -> Result<()> {
        self.checked.get_or_try_init(|| guard::check(&self.link, &self.keys)).await.copied()
    }

    /// As [`QueueHandle::ready`], and writes `meta`, for calls that add or change something. Free after the first success.
    ///
    /// # Errors
    /// See [`QueueHandle::ready`].
    pub async fn writable(&self) -> Result<()> {
        self.ready().await?;
        let introduce = || async {
            if !self.options.skip_metas_update {
                guard::write_meta(&self.link, &self.keys, self.options.max_len_events).await?;
            }
            Ok(())
        };
        match self.introduced.get_or_try_init(introduce).await {
            // What is refused for now, for want of memory or of a right, is told by the call itself if it is refused, too.
            Err(Error::Server { .. }) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether a call would be sent at once.
    fn is_at_hand(&self) -> bool {
        self.introduced.initialized() && self.link.is_connected()
    }

    async fn read(&self, cmd: &Cmd) -> Result<redis::Value> {
        self.ready().await?;
        self.link.call(cmd, Retry::Look).await
    }

    async fn write(&self, cmd: &Cmd) -> Result<redis::Value> {
        self.writable().await?;
        self.link.call(cmd, Retry::Safe).await
    }

    /// Adds jobs in order; large batches go in parts of which several are in flight.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] with nothing sent: a job would be due too late. [`Error::OutcomeUnknown`] when a reply got lost
    /// and ids are automatic: parts of the batch may be there.
    pub async fn add_jobs(&self, batch: &JobBatch) -> Result<Added> {
        // Also before the first connection.
        batch.check_due()?;
        self.writable().await?;
        // What fits into one call is a call like any other; only longer batches stay out of the way.
        let link = if batch.chunks().nth(1).is_none() { &self.link } else { &self.bulk };
        let mut adder = Adder::new(link.clone(), self.keys.clone());
        adder.add(batch).await?;
        adder.finish().await
    }

    /// Opens a stream of batches into the queue.
    ///
    /// # Errors
    /// What [`QueueHandle::ready`] returns.
    pub async fn adder(&self) -> Result<Adder> {
        self.writable().await?;
        Ok(Adder::new(self.bulk.clone(), self.keys.clone()))
    }

    /// Reads a job; `None` when it does not exist.
    ///
    /// # Errors
    /// What [`Link::call`] returns; so for all reads and settings here.
    pub async fn get_job(&self, id: &str) -> Result<Option<JobRecord>> {
        let reply = self.read(&read_job(&self.keys, id)).await?;
        let job = JobRecord::from_flat(id, reply)?;
        Ok((!job.is_missing()).then_some(job))
    }

    /// Reads jobs by id; `None` for each that does not exist.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn get_jobs_by_id(&self, ids: &[String]) -> Result<Vec<Option<JobRecord>>> {
        self.ready().await?;
        let mut jobs = Vec::with_capacity(ids.len());
        for ids in ids.chunks(READ_CHUNK) {
            let commands: Vec<Cmd> = ids.iter().map(|id| read_job(&self.keys, id)).collect();
            for (id, reply) in ids.iter().zip(self.link.pipeline(&commands, Retry::Look).await?) {
                let job = JobRecord::from_flat(id, reply?)?;
                jobs.push((!job.is_missing()).then_some(job));
            }
        }
        Ok(jobs)
    }

    /// Reads the jobs of some states between two ranks; `None` for an id whose hash is gone.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn get_jobs(&self, types: &[&str], start: i64, end: i64, asc: bool) -> Result<Vec<Option<JobRecord>>> {
        self.ready().await?;
        let ids = inspect::get_ranges(&self.link, &self.keys, start, end, asc, types).await?;
        self.get_jobs_by_id(&ids).await
    }

    /// Reads log rows between two ranks, and the number of all rows. `asc` false: newest first.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn get_job_logs(&self, id: &str, start: i64, end: i64, asc: bool) -> Result<(Vec<String>, i64)> {
        self.ready().await?;
        let key = self.keys.of(&format!("{id}:logs"));
        let (first, last) = if asc { (start, end) } else { (-(end + 1), -(start + 1)) };
        let range = command("LRANGE", &[&key]).arg(first).arg(last).clone();
        let mut replies = self.link.pipeline(&[range, command("LLEN", &[&key])], Retry::Look).await?.into_iter();
        let mut next = || replies.next().unwrap_or(Err(Error::Closed));
        let mut rows = reply::texts(next()?)?;
        if !asc {
            rows.reverse();
        }
        Ok((rows, reply::integer(next()?)?))
    }

    /// Reads the queue's settings.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn get_meta(&self) -> Result<Vec<(String, String)>> {
        let reply = self.read(&command("HGETALL", &[self.keys.meta()])).await?;
        let meta = JobRecord::from_flat("", reply)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(meta.fields().map(|(name, value)| (text(name), text(value))).collect())
    }

    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn is_paused(&self) -> Result<bool> {
        let reply = self.read(&command("HEXISTS", &[self.keys.meta(), "paused"])).await?;
        Ok(reply::integer(reply)? == 1)
    }

    /// Stops all workers that have a limit for so many milliseconds.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn rate_limit(&self, expire: Duration) -> Result<()> {
        let mut set = command("SET", &[&self.keys.of("limiter")]);
        set.arg(MANUAL_LIMIT).arg("PX").arg(expire.as_millis().max(1) as u64);
        self.write(&set).await.map(drop)
    }

    /// Limits how many jobs may be active at once, over all workers; `None` lifts the limit. Returns how many settings were
    /// added or removed; so does the next one.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn set_global_concurrency(&self, concurrency: Option<i64>) -> Result<i64> {
        self.write_meta(&[("concurrency", concurrency)]).await
    }

    /// Limits how many jobs may start per duration (ms), over all workers; `None` lifts the limit.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn set_global_rate_limit(&self, limit: Option<(i64, i64)>) -> Result<i64> {
        let (max, duration) = limit.unzip();
        self.write_meta(&[("max", max), ("duration", duration)]).await
    }

    async fn write_meta(&self, fields: &[(&str, Option<i64>)]) -> Result<i64> {
        let set = fields.iter().all(|(_, value)| value.is_some());
        let mut write = command(if set { "HSET" } else { "HDEL" }, &[self.keys.meta()]);
        for (name, value) in fields {
            write.arg(name);
            if let (true, Some(value)) = (set, value) {
                write.arg(*value);
            }
        }
        reply::integer(self.write(&write).await?)
    }
}

fn command(name: &str, args: &[impl ToRedisArgs]) -> Cmd {
    let mut cmd = redis::cmd(name);
    cmd.arg(args);
    cmd
}

fn read_job(keys: &Keys, id: &str) -> Cmd {
    command("HGETALL", &[keys.job(id)])
}
