//! What the user of the URL may not do, looked at when a worker starts: a right that is missing when the first job has
//! run is found too late.

use std::sync::Arc;
use std::time::Duration;

use super::listeners::Event;
use super::state::WorkerState;
use crate::connection::Link;
use crate::error::Result;
use crate::error_once::ErrorOnce;
use crate::queue::rights::{is_denial, missing_rights};
use crate::queue::QueueHandle;

/// A right that somebody gives to the user is noticed within this time.
const AGAIN: Duration = Duration::from_secs(2);

/// Looks once; again only while rights are missing.
pub async fn watch(state: Arc<WorkerState>, link: Link) {
    while look(&state, &link).await {
        tokio::time::sleep(AGAIN).await;
    }
}

/// Waits until the queue can be used: rights may be given to the user while the worker runs.
///
/// # Errors
/// Those of [`QueueHandle::ready`], but for a refusal for want of a right.
pub async fn wait_until_usable(state: &WorkerState, link: &Link, queue: &QueueHandle) -> Result<()> {
    let refused = ErrorOnce::default();
    loop {
        match queue.ready().await {
            Err(error) if is_denial(&error) => {
                if !look(state, link).await && refused.begins(&error) {
                    state.error(error.to_string());
                }
            }
            result => return result,
        }
        tokio::time::sleep(state.options.run_retry_delay).await;
    }
}

/// Notes which rights are missing, and reports them if others were missing before. True if some are.
///
/// A look that fails for another reason tells nothing: the calls that follow tell more.
pub async fn look(state: &WorkerState, link: &Link) -> bool {
    let needed = &state.options.needed_rights;
    if needed.is_empty() {
        return false;
    }
    let Ok(missing) = missing_rights(link, &state.keys, needed).await else { return state.has_missing_rights() };
    let before = std::mem::replace(&mut *state.missing_rights.lock(), missing.clone());
    if missing != before {
        state.emit(Event::Rights { missing: missing.clone() });
    }
    !missing.is_empty()
}
