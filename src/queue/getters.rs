//! Reads of jobs, logs and settings.

use redis::Cmd;

use super::handle::QueueHandle;
use crate::connection::Retry;
use crate::error::{Error, Result};
use crate::protocol::{reply, JobRecord, Keys};
use crate::reads::command;
use crate::scripts::inspect;

/// Hashes read per pipeline.
const READ_CHUNK: usize = 250;

impl QueueHandle {
    /// Reads a job; `None` when it does not exist.
    ///
    /// # Errors
    /// What [`crate::connection::Link::call`] returns.
    pub async fn get_job(&self, id: &str) -> Result<Option<JobRecord>> {
        let reply = self.read(&read_job(&self.keys, id)).await?;
        let job = JobRecord::from_flat(id, reply)?;
        Ok((!job.is_missing()).then_some(job))
    }

    /// Reads jobs by id; `None` for a job that does not exist.
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

    /// Reads the jobs of some states between two ranks; `None` for an id whose hash does not exist any more.
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
}

fn read_job(keys: &Keys, id: &str) -> Cmd {
    command("HGETALL", &[keys.job(id)])
}
