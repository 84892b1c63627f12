//! The workers of this process. A call of the process that pauses a queue lets them hold it first: once the call has
//! returned, no further handler starts, also not on a job that was claimed ahead. And a process that ends now gives back
//! what they hold.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::lanes::Lane;
use super::state::{Closing, WorkerState};
use crate::connection::{Endpoint, Link, Pool, ServerInfo, WeakLink};
use crate::mutex::Mutex;
use crate::protocol::Keys;

#[derive(Default)]
pub struct Roster(Mutex<Vec<Member>>);

struct Member {
    endpoint: Arc<Endpoint>,
    link: WeakLink,
    worker: Weak<WorkerState>,
}

impl Roster {
    /// A worker begins to run.
    pub fn join(&self, link: &Link, worker: &Arc<WorkerState>) {
        let mut members = self.0.lock();
        members.retain(|member| member.worker.upgrade().is_some_and(|worker| worker.is_in_use()));
        let endpoint = link.endpoint().clone();
        members.push(Member { endpoint, link: link.downgrade(), worker: Arc::downgrade(worker) });
    }

    /// Let no worker start a job of this queue, which `link` leads to, until the result is dropped. Prefetched jobs go
    /// back.
    #[must_use]
    pub fn hold(&self, link: &Link, keys: &Keys) -> Held {
        let members = self.0.lock();
        let here = members.iter().filter(|member| member.is_at(link));
        let serving = here.filter_map(Member::running).filter_map(|worker| {
            let lane = worker.lanes.all().into_iter().find(|lane| lane.keys == *keys)?;
            worker.hold(&lane);
            Some((worker, lane))
        });
        Held(serving.collect())
    }

    /// Give back all jobs that the workers of this process hold, since the process ends now: their handlers never hand
    /// in an outcome any more. The workers end first, within half of the time.
    pub async fn give_back_held(&self, pool: &Pool, time: Duration) {
        let found: Vec<_> = self.0.lock().iter().filter_map(Member::found).collect();
        let give_back = found.iter().map(|(endpoint, worker)| async move {
            worker.close(Closing::Gracefully { deadline: Some(Instant::now()) });
            if tokio::time::timeout(time / 2, worker.lifecycle.ended()).await.is_err() {
                worker.close(Closing::Now);
                let _ = worker.lifecycle.ended().await;
            }
            if worker.is_in_use() {
                worker.give_back_held(&pool.command(endpoint)).await;
            }
        });
        join_all(give_back).await;
    }
}

impl Member {
    /// Whether the worker's queue is on the same server, which may have several addresses.
    fn is_at(&self, link: &Link) -> bool {
        let there = link.endpoint();
        if self.endpoint.is_same_place(there) {
            return true;
        }
        let run_id = |server: Option<ServerInfo>| server.map(|server| server.run_id).filter(|id| !id.is_empty());
        let is_same_server = run_id(link.server()).is_some_and(|id| run_id(self.link.server()) == Some(id));
        is_same_server && self.endpoint.database() == there.database()
    }

    fn found(&self) -> Option<(Arc<Endpoint>, Arc<WorkerState>)> {
        Some((self.endpoint.clone(), self.worker.upgrade()?))
    }

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
