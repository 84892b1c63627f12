//! Operations on all jobs of a state: script calls of limited work, repeated until nothing is left to do.

use super::handle::QueueHandle;
use super::registration::end_route;
use crate::clock::now_ms;
use crate::error::Result;
use crate::protocol::route::split_name;
use crate::protocol::Keys;
use crate::reads::orphans::{find_orphans, listed_ids};
use crate::scripts::manage::{self, Cleaning};

/// The jobs that one `clean` call of BullMQ looks at, before it emits its event.
const CLEANED_PER_PASS: i64 = 10_000;

/// The most jobs that one call promotes, as in a fetch.
const MOST_PROMOTED: i64 = 1000;

/// How many jobs one call promotes by their ids.
const PROMOTED_PER_CALL: usize = 250;

/// The most list elements that one call which removes orphaned jobs may read, and the most ids that it gets.
const MOST_VISITS: usize = 1_000_000;
const MOST_ORPHANS: usize = 250;

impl QueueHandle {
    /// Moves all failed (or completed) jobs back to wait, `count` per call.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn retry_all(&self, state: &str, count: i64, timestamp: i64) -> Result<()> {
        self.writable().await?;
        while manage::retry_jobs(&self.link, &self.keys, state, count, timestamp, self.options.wake.fan_out).await? {}
        Ok(())
    }

    /// Moves all delayed jobs to wait, `count` per call.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn promote_all(&self, count: i64) -> Result<()> {
        self.writable().await?;
        while manage::promote_jobs(&self.link, &self.keys, count, self.options.wake.fan_out).await? {}
        Ok(())
    }

    /// Moves delayed jobs with these ids to where they may run, 250 per call. Returns the ids of those that it moved.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn promote_many(&self, ids: Vec<String>) -> Result<Vec<String>> {
        self.writable().await?;
        let mut moved = Vec::with_capacity(ids.len());
        for part in ids.chunks(PROMOTED_PER_CALL) {
            let fan_out = self.options.wake.fan_out;
            let others = manage::promote_many(&self.link, &self.keys, part, fan_out).await?;
            let is_other = |at: usize| others.contains(&i64::try_from(at + 1).unwrap_or(0));
            moved.extend(part.iter().enumerate().filter(|(at, _)| !is_other(*at)).map(|(_, id)| id.clone()));
        }
        Ok(moved)
    }

    /// Moves up to `limit` delayed jobs that are due to where they may run, 1000 per call. Returns how many.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn promote_due(&self, limit: i64) -> Result<i64> {
        self.writable().await?;
        let mut moved = 0;
        while moved < limit {
            let most = (limit - moved).min(MOST_PROMOTED);
            let count = manage::promote_due(&self.link, &self.keys, now_ms(), most, self.options.wake.fan_out).await?;
            moved += count;
            if count < most {
                break;
            }
        }
        Ok(moved)
    }

    /// Removes the queue, which must be paused, with all its jobs, `count` per call. The place of a route is free then.
    ///
    /// # Errors
    /// [`crate::error::Error::Refused`] when jobs are active and `force` is off, or the queue is not paused; and see
    /// [`QueueHandle::get_job`].
    pub async fn obliterate(&self, count: i64, force: bool) -> Result<()> {
        self.ready().await?;
        while manage::obliterate(&self.link, &self.keys, count, force).await? {}
        if let Some(registration) = &self.adding.registration {
            return registration.end(&self.link).await;
        }
        match split_name(self.keys.name()) {
            Some((base, slug)) => end_route(&self.link, &Keys::new(self.keys.prefix(), base)?, slug).await,
            None => Ok(()),
        }
    }

    /// Finds orphaned jobs and removes them, at most `limit` of them; 0 is all. Scans about `count` keys per round
    /// trip. Returns how many went.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn sweep_orphaned_jobs(&self, count: u64, limit: usize) -> Result<i64> {
        self.ready().await?;
        let listed = listed_ids(&self.link, &self.keys).await?;
        // A call looks for each of its ids in all lists, so it gets few of them when the lists are long.
        let size = (MOST_VISITS / listed.len().max(1)).clamp(1, MOST_ORPHANS);
        let (mut removed, mut cursor) = (0, 0);
        loop {
            let (next, found) = find_orphans(&self.link, &self.keys, cursor, count, &listed).await?;
            for ids in found.chunks(size) {
                let left = limit.saturating_sub(usize::try_from(removed).unwrap_or(usize::MAX));
                let ids = if limit == 0 { ids } else { &ids[..ids.len().min(left)] };
                removed += manage::remove_orphaned_jobs(&self.link, &self.keys, ids).await?;
                if limit != 0 && removed >= i64::try_from(limit).unwrap_or(i64::MAX) {
                    return Ok(removed);
                }
            }
            if next == 0 {
                return Ok(removed);
            }
            cursor = next;
        }
    }

    /// Removes all waiting jobs, and with `delayed` the delayed ones too.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn drain(&self, delayed: bool) -> Result<()> {
        self.ready().await?;
        let mut kept = Vec::new();
        loop {
            let (more, now_kept) = manage::drain(&self.link, &self.keys, delayed, &kept).await?;
            if !more {
                return Ok(());
            }
            kept = now_kept;
        }
    }

    /// Removes the jobs of a state that are not younger than `cutoff` (ms), looking at `limit` of them, and returns
    /// their ids. `quiet`: if nothing is removed there is no event, which would be a use of a route.
    ///
    /// It removes the same jobs as BullMQ, which looks at 10,000 at a time and stops after a pass that kept one of
    /// them.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`]. [`crate::error::Error::OutcomeUnknown`]: more jobs may be removed than the
    /// returned ids say.
    pub async fn clean(&self, state: &str, cutoff: i64, limit: Option<i64>, quiet: bool) -> Result<Vec<String>> {
        self.ready().await?;
        let mut ids = Vec::new();
        loop {
            let left = limit.map_or(i64::MAX, |limit| limit - ids.len() as i64);
            let pass = left.min(CLEANED_PER_PASS);
            let (mut kept, mut removed) = (0, 0);
            loop {
                let what = Cleaning { state, cutoff, limit: pass, quiet };
                let part = manage::clean(&self.link, &self.keys, &what, kept, removed).await?;
                (kept, removed) = (part.kept, part.removed);
                ids.extend(part.ids);
                if !part.more {
                    break;
                }
            }
            if removed < pass || left == pass {
                return Ok(ids);
            }
        }
    }
}
