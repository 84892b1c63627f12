//! The jobs in the ready queue that were claimed ahead.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ReadyQueue;
use crate::worker::held::HeldJob;

impl ReadyQueue {
    /// Whether jobs that were claimed ahead wait here, or have started and may have no outcome yet.
    pub fn has_claims(&self) -> bool {
        let state = self.state.lock();
        !state.started.is_empty() || state.jobs.iter().any(|job| job.is_ahead())
    }

    /// When the oldest job arrived that was claimed ahead and waits here.
    pub fn oldest_claim(&self) -> Option<Instant> {
        self.state.lock().jobs.iter().find(|job| job.is_ahead()).map(|job| job.arrived)
    }

    /// Remove the jobs that were claimed ahead and that no handler has started.
    pub fn withdraw_claims(&self) -> Vec<Arc<HeldJob>> {
        let mut state = self.state.lock();
        let (claims, others): (VecDeque<_>, _) =
            std::mem::take(&mut state.jobs).into_iter().partition(|job| job.is_ahead());
        state.jobs = others;
        claims.into()
    }

    /// How many jobs wait here.
    pub fn count(&self) -> usize {
        self.state.lock().jobs.len()
    }

    /// Take the jobs that were claimed ahead, started at least this long ago, and have no outcome. Each is taken once.
    pub fn take_started(&self, age: Duration) -> Vec<Arc<HeldJob>> {
        let mut state = self.state.lock();
        if state.started.is_empty() {
            return Vec::new();
        }
        let running = std::mem::take(&mut state.started).into_iter().filter(|job| !job.is_settled());
        let (due, younger) = running.partition(|job| job.handler_time().is_some_and(|time| time >= age));
        state.started = younger;
        due
    }
}
