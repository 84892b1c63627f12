//! What listeners are told of a job beyond what Redis stores, from its handler's end until the outcome is accepted.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use super::held::HeldJob;
use crate::lock::Mutex;

/// What is known of how a job ended.
#[derive(Default)]
pub struct Witness {
    /// What the handler's side left: the core only carries it.
    pub left: Option<Box<dyn Any + Send>>,
    /// The class of the error, when the core itself failed the job.
    pub class: Option<&'static str>,
}

impl Witness {
    pub fn of_core(class: &'static str) -> Self {
        Self { left: None, class: Some(class) }
    }

    pub fn of_handler(left: impl Any + Send) -> Self {
        Self { left: Some(Box::new(left)), class: None }
    }
}

/// The witnesses of jobs on their way out.
///
/// Not in the jobs themselves: what the handler's side left refers to its job, and neither would ever be freed.
#[derive(Default)]
pub struct Witnesses(Mutex<HashMap<usize, Witness>>);

impl Witnesses {
    /// Keep it, beside what was noted of the same job before.
    pub fn note(&self, job: &Arc<HeldJob>, witness: Witness) {
        if witness.left.is_some() || witness.class.is_some() {
            let mut witnesses = self.0.lock();
            let known = witnesses.entry(address(job)).or_default();
            known.left = witness.left.or(known.left.take());
            known.class = witness.class.or(known.class);
        }
    }

    pub fn take(&self, job: &Arc<HeldJob>) -> Witness {
        let mut witnesses = self.0.lock();
        // Without listeners there are none, and nothing to be looked up.
        let found = if witnesses.is_empty() { None } else { witnesses.remove(&address(job)) };
        found.unwrap_or_default()
    }

    /// Forget those whose outcome will not be known any more.
    pub fn clear(&self) {
        let forgotten = std::mem::take(&mut *self.0.lock());
        drop(forgotten);
    }
}

/// A job is known by its place: it stays there as long as somebody has it.
fn address(job: &Arc<HeldJob>) -> usize {
    Arc::as_ptr(job) as usize
}
