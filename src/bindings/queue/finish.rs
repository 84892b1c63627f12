//! Moves of a running job by its own handler.

use pyo3::prelude::*;

use super::super::output::Output;
use super::super::pending::Pending;
use super::CoreQueue;
use bullrush::clock::now_ms;
use bullrush::protocol::due;
use bullrush::scripts::finish::EndedAttempt;
use bullrush::scripts::{finish, lock};

#[pymethods]
impl CoreQueue {
    fn move_to_delayed(&self, id: String, token: String, delay: i64) -> Pending {
        self.start(move |queue| async move {
            let (link, keys, now) = (queue.link(), queue.keys(), now_ms());
            due::check("timestamp", now.saturating_add(delay))?;
            let attempt = EndedAttempt { id: &id, token: &token, failure: None };
            finish::move_to_delayed(link, keys, now, attempt, delay, true).await.map(|()| Output::Nothing)
        })
    }

    fn move_to_wait(&self, id: String, token: String) -> Pending {
        self.start(move |queue| async move {
            Ok(Output::Number(finish::move_to_wait(queue.link(), queue.keys(), None, &id, &token).await?))
        })
    }

    #[pyo3(signature = (id, token, child_key))]
    fn move_to_waiting_children(&self, id: String, token: String, child_key: Option<String>) -> Pending {
        self.start(move |queue| async move {
            let (link, keys, child) = (queue.link(), queue.keys(), child_key.as_deref());
            Ok(Output::Flag(finish::move_to_waiting_children(link, keys, now_ms(), &id, &token, child).await?))
        })
    }

    fn extend_lock(&self, id: String, token: String, duration: i64) -> Pending {
        self.start(move |queue| async move {
            let locks = [(id.as_str(), token.as_str())];
            let refused = lock::extend_locks(queue.link(), queue.keys(), duration, locks).await?;
            Ok(Output::Flag(refused.is_empty()))
        })
    }
}
