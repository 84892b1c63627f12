//! Writes without a script: `src/writes`.

use pyo3::prelude::*;

use super::super::output::Output;
use super::super::pending::Pending;
use super::CoreQueue;
use bullrush::writes::{attempt, batches, control, cron};

#[pymethods]
impl CoreQueue {
    fn cancel_job(&self, id: String, reason: String) -> Pending {
        self.start(|queue| async move {
            control::cancel_job(queue.link(), queue.keys(), &id, &reason).await.map(Output::Flag)
        })
    }

    fn deduplication_owner(&self, deduplication_id: String) -> Pending {
        self.start(|queue| async move {
            control::deduplication_owner(queue.link(), queue.keys(), &deduplication_id).await.map(Output::of)
        })
    }

    fn free_deduplication_id(&self, deduplication_id: String) -> Pending {
        self.start(|queue| async move {
            control::free_deduplication_id(queue.link(), queue.keys(), &deduplication_id).await.map(Output::Number)
        })
    }

    fn end_rate_limit(&self) -> Pending {
        self.start(|queue| async move { control::end_rate_limit(queue.link(), queue.keys()).await.map(Output::Number) })
    }

    fn remove_old_priorities(&self) -> Pending {
        self.start(|queue| async move {
            control::remove_old_priorities(queue.link(), queue.keys()).await.map(Output::Number)
        })
    }

    fn trim_events(&self, most: i64) -> Pending {
        self.start(move |queue| async move {
            control::trim_events(queue.link(), queue.keys(), most).await.map(Output::Number)
        })
    }

    fn publish_event(&self, most: i64, fields: Vec<(Vec<u8>, Vec<u8>)>) -> Pending {
        self.start(move |queue| async move {
            control::publish_event(queue.link(), queue.keys(), most, &fields).await.map(|()| Output::Nothing)
        })
    }

    fn attempt_write(&self) -> Pending {
        self.start(
            |queue| async move { attempt::attempt_write(queue.link(), queue.keys()).await.map(|()| Output::Nothing) },
        )
    }

    fn note_cron(&self, definition: String) -> Pending {
        self.start(|queue| async move {
            cron::note_cron(queue.link(), queue.keys(), &definition).await.map(|()| Output::Nothing)
        })
    }

    fn forget_crons(&self, definitions: Vec<String>) -> Pending {
        self.start(|queue| async move {
            cron::forget_crons(queue.link(), queue.keys(), &definitions).await.map(|()| Output::Nothing)
        })
    }

    fn note_place(&self, batch_id: String, place: String) -> Pending {
        self.start(|queue| async move {
            batches::note_place(queue.link(), queue.keys(), &batch_id, &place).await.map(|()| Output::Nothing)
        })
    }
}
