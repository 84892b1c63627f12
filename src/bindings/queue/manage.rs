//! Changing a queue and its jobs.

use std::time::Duration;

use pyo3::prelude::*;

use super::super::output::Output;
use super::super::pending::Pending;
use super::super::runtime::Core;
use super::CoreQueue;
use bullrush::clock::now_ms;
use bullrush::error::{Error, Result};
use bullrush::scripts::hint;
use bullrush::scripts::manage::{self, RetryOptions};

#[pymethods]
impl CoreQueue {
    fn rate_limit(&self, expire_ms: u64) -> Pending {
        self.start(move |queue| async move {
            queue.rate_limit(Duration::from_millis(expire_ms)).await.map(|()| Output::Nothing)
        })
    }

    fn provide_wake_hint(&self, count: i64) -> Pending {
        self.start(move |queue| async move {
            hint::provide_wake_hint(queue.link(), queue.keys(), count).await.map(Output::Number)
        })
    }

    fn consume_wake_hint(&self, want: i64) -> Pending {
        self.start(move |queue| async move {
            hint::consume_wake_hint(queue.link(), queue.keys(), want).await.map(Output::Number)
        })
    }

    #[pyo3(signature = (concurrency))]
    fn set_global_concurrency(&self, concurrency: Option<i64>) -> Pending {
        self.start(move |queue| async move { queue.set_global_concurrency(concurrency).await.map(Output::Number) })
    }

    #[pyo3(signature = (limit))]
    fn set_global_rate_limit(&self, limit: Option<(i64, i64)>) -> Pending {
        self.start(move |queue| async move { queue.set_global_rate_limit(limit).await.map(Output::Number) })
    }

    fn pause(&self) -> Pending {
        let roster = &Core::current().roster;
        self.write(move |queue| async move {
            // What a worker of this process fetches before the pause arrives must not start after it.
            let _held = roster.hold(queue.link(), queue.keys());
            manage::pause(queue.link(), queue.keys()).await.map(|()| Output::Nothing)
        })
    }

    fn resume(&self) -> Pending {
        self.write(|queue| async move {
            manage::resume(queue.link(), queue.keys(), queue.options().wake.fan_out).await.map(|()| Output::Nothing)
        })
    }

    fn update_data(&self, id: String, data: Vec<u8>) -> Pending {
        let limit = self.payload_limit;
        self.write(move |queue| async move {
            if let Some(limit) = limit.filter(|limit| data.len() > *limit) {
                return Err(Error::TooLarge(format!("The size of job {id} exceeds the limit {limit} bytes")));
            }
            manage::update_data(queue.link(), queue.keys(), &id, &data).await.map(|()| Output::Nothing)
        })
    }

    #[pyo3(signature = (id, progress, row=None))]
    fn update_progress(&self, id: String, progress: Vec<u8>, row: Option<(String, Option<i64>)>) -> Pending {
        let limit = self.payload_limit;
        self.write(move |queue| async move {
            check_size(limit, "progress", &id, progress.len())?;
            check_size(limit, "log line", &id, row.as_ref().map_or(0, |(text, _)| text.len()))?;
            let row = row.as_ref().map(|(text, keep)| (text.as_str(), *keep));
            manage::update_progress(queue.link(), queue.keys(), &id, &progress, row).await.map(|()| Output::Nothing)
        })
    }

    #[pyo3(signature = (id, row, keep, own=false))]
    fn add_log(&self, id: String, row: String, keep: Option<i64>, own: bool) -> Pending {
        let limit = self.payload_limit;
        self.write(move |queue| async move {
            check_size(limit, "log line", &id, row.len())?;
            Ok(Output::Number(manage::add_log(queue.link(), queue.keys(), &id, &row, keep, own).await?))
        })
    }

    #[pyo3(signature = (id, keep))]
    fn clear_logs(&self, id: String, keep: Option<i64>) -> Pending {
        self.start(move |queue| async move {
            manage::clear_logs(queue.link(), queue.keys(), &id, keep).await.map(|()| Output::Nothing)
        })
    }

    fn change_delay(&self, id: String, delay: i64) -> Pending {
        self.write(move |queue| async move {
            manage::change_delay(queue.link(), queue.keys(), now_ms(), &id, delay).await.map(|()| Output::Nothing)
        })
    }

    fn change_priority(&self, id: String, priority: i64, lifo: bool) -> Pending {
        self.write(move |queue| async move {
            manage::change_priority(queue.link(), queue.keys(), &id, priority, lifo).await.map(|()| Output::Nothing)
        })
    }

    fn promote(&self, id: String) -> Pending {
        self.write(
            |queue| async move { manage::promote(queue.link(), queue.keys(), &id).await.map(|()| Output::Nothing) },
        )
    }

    fn promote_many(&self, ids: Vec<String>) -> Pending {
        self.start(move |queue| async move { queue.promote_many(ids).await.map(Output::Texts) })
    }

    fn promote_jobs(&self, count: i64) -> Pending {
        self.start(move |queue| async move { queue.promote_all(count).await.map(|()| Output::Nothing) })
    }

    fn promote_due(&self, limit: i64) -> Pending {
        self.start(move |queue| async move { queue.promote_due(limit).await.map(Output::Number) })
    }

    #[pyo3(signature = (id, remove_children, seen=None))]
    fn remove(&self, id: String, remove_children: bool, seen: Option<(String, String)>) -> Pending {
        self.start(move |queue| async move {
            let seen = seen.as_ref().map(|(state, finished_on)| (state.as_str(), finished_on.as_str()));
            Ok(Output::Number(manage::remove(queue.link(), queue.keys(), &id, remove_children, seen).await?))
        })
    }

    #[pyo3(signature = (id, state, lifo, reset_made, reset_started, finished_on=None))]
    fn retry(
        &self,
        id: String,
        state: String,
        lifo: bool,
        reset_made: bool,
        reset_started: bool,
        finished_on: Option<String>,
    ) -> Pending {
        let options = RetryOptions { lifo, reset_made, reset_started };
        self.write(move |queue| async move {
            let finished_on = finished_on.as_deref();
            manage::retry(queue.link(), queue.keys(), &id, &state, options, finished_on).await.map(|()| Output::Nothing)
        })
    }

    fn retry_jobs(&self, state: String, count: i64, timestamp: i64) -> Pending {
        self.start(
            move |queue| async move { queue.retry_all(&state, count, timestamp).await.map(|()| Output::Nothing) },
        )
    }

    fn drain(&self, delayed: bool) -> Pending {
        self.start(move |queue| async move { queue.drain(delayed).await.map(|()| Output::Nothing) })
    }

    #[pyo3(signature = (state, cutoff, limit, *, quiet=false))]
    fn clean(&self, state: String, cutoff: i64, limit: Option<i64>, quiet: bool) -> Pending {
        self.start(move |queue| async move { Ok(Output::Texts(queue.clean(&state, cutoff, limit, quiet).await?)) })
    }

    fn remove_orphaned_jobs(&self, ids: Vec<String>) -> Pending {
        self.start(move |queue| async move {
            Ok(Output::Number(manage::remove_orphaned_jobs(queue.link(), queue.keys(), &ids).await?))
        })
    }

    fn sweep_orphaned_jobs(&self, count: u64, limit: usize) -> Pending {
        self.start(move |queue| async move { queue.sweep_orphaned_jobs(count, limit).await.map(Output::Number) })
    }

    fn remove_child_dependency(&self, id: String, parent_key: String) -> Pending {
        self.start(move |queue| async move {
            Ok(Output::Flag(manage::remove_child_dependency(queue.link(), queue.keys(), &id, &parent_key).await?))
        })
    }

    fn remove_deduplication_key(&self, id: String, deduplication_id: String) -> Pending {
        self.start(move |queue| async move {
            let freed = manage::remove_deduplication_key(queue.link(), queue.keys(), &id, &deduplication_id).await?;
            Ok(Output::Flag(freed))
        })
    }

    fn remove_unprocessed_children(&self, id: String) -> Pending {
        self.start(|queue| async move {
            manage::remove_unprocessed_children(queue.link(), queue.keys(), &id).await.map(|()| Output::Nothing)
        })
    }

    fn obliterate(&self, force: bool, count: i64) -> Pending {
        self.start(move |queue| async move { queue.obliterate(count, force).await.map(|()| Output::Nothing) })
    }
}

/// Refuses what a program would write to a job if it is larger than the option `payload_limit` of the queue.
fn check_size(limit: Option<usize>, what: &str, id: &str, bytes: usize) -> Result<()> {
    match limit.filter(|limit| bytes > *limit) {
        None => Ok(()),
        Some(limit) => Err(Error::TooLarge(format!(
            "the {what} of job {id} has {bytes} bytes, more than the payload_limit, {limit}; nothing was written"
        ))),
    }
}
