//! What listeners get to know of a job beyond what Redis stores.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use crate::mutex::Mutex;
use crate::worker::held::HeldJob;

/// What is known of the end of a job, from the end of its handler until Redis has accepted the outcome.
#[derive(Default)]
pub struct Details {
    /// A value of the handler's side, which the core only passes on.
    pub handler_value: Option<Box<dyn Any + Send>>,
    /// The class of the error, if the core itself failed the job.
    pub error_class: Option<&'static str>,
}

impl Details {
    pub fn from_core(error_class: &'static str) -> Self {
        Self { handler_value: None, error_class: Some(error_class) }
    }

    /// The same with the class of the error.
    pub fn with_class(self, error_class: &'static str) -> Self {
        Self { error_class: Some(error_class), ..self }
    }

    pub fn from_handler(value: impl Any + Send) -> Self {
        Self { handler_value: Some(Box::new(value)), error_class: None }
    }
}

/// The details of jobs that are being finished.
///
/// They are not in the jobs themselves: the handler's value refers to its job, so neither would ever be freed.
#[derive(Default)]
pub struct DetailsByJob(Mutex<HashMap<usize, Details>>);

impl DetailsByJob {
    /// Add to what was noted of the job before.
    pub fn note(&self, job: &Arc<HeldJob>, details: Details) {
        if details.handler_value.is_some() || details.error_class.is_some() {
            let mut by_job = self.0.lock();
            let known = by_job.entry(address(job)).or_default();
            known.handler_value = details.handler_value.or(known.handler_value.take());
            known.error_class = details.error_class.or(known.error_class);
        }
    }

    pub fn take(&self, job: &Arc<HeldJob>) -> Details {
        let mut by_job = self.0.lock();
        // Without listeners the map is empty, and the lookup is saved.
        let found = if by_job.is_empty() { None } else { by_job.remove(&address(job)) };
        found.unwrap_or_default()
    }

    /// Forget all: the outcomes of these jobs will not be known any more.
    pub fn clear(&self) {
        let forgotten = std::mem::take(&mut *self.0.lock());
        // Only now, when the lock is free.
        drop(forgotten);
    }
}

/// The key of a job: its address does not change as long as somebody holds the job.
fn address(job: &Arc<HeldJob>) -> usize {
    Arc::as_ptr(job) as usize
}
