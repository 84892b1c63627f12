//! The workers of this process. A call of the process that pauses a queue lets them hold it first: once the call has returned, no
//! further handler starts, also not on a job that was claimed ahead.

use std::sync::{Arc, Weak};

use super::lanes::Lane;
use super::state::WorkerState;
use crate::connection::Endpoint;
use crate::lock::Mutex;
use crate::protocol::Keys;

#[derive(Default)]
pub struct Roster(Mutex<Vec<Member>>);

struct Member {
    endpoint: Arc<Endpoint>,
    worker: Weak<WorkerState>,
}

impl Roster {
    /// A worker begins to run.
    pub fn join(&self, endpoint: &Arc<Endpoint>, worker: &Arc<WorkerState>) {
        let mut members = self.0.lock();
        members.retain(|member| member.running().is_some());
        members.push(Member { endpoint: endpoint.clone(), worker: Arc::downgrade(worker) });
    }

    /// Let no worker start a job of this queue until the result is dropped. Jobs that were claimed ahead go back.
    #[must_use]
    pub fn hold(&self, endpoint: &Endpoint, keys: &Keys) -> Held {
        let members = self.0.lock();
        let here = members.iter().filter(|member| member.endpoint.is_same_place(endpoint));
        let serving = here.filter_map(Member::running).filter_map(|worker| {
            let lane = worker.lanes.all().into_iter().find(|lane| lane.keys == *keys)?;
            worker.hold(&lane);
            Some((worker, lane))
        });
        Held(serving.collect())
    }
}

impl Member {
    fn running(&self) -> Option<Arc<WorkerState>> {
        self.worker.upgrade().filter(|worker| !worker.lifecycle.has_ended())
    }
}

/// The workers that hold a queue.
pub struct Held(Vec<(Arc<WorkerState>, Arc<Lane>)>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.iter().for_each(|(worker, lane)| worker.release(lane));
    }
}
