//! The routes of the queue, for a worker with a profile.

use std::sync::Arc;

use super::background::report_stalled;
use super::MAX_WAIT;
use crate::clock::now_ms;
use crate::connection::Link;
use crate::protocol::route::queue_of;
use crate::timers::route_keeper::{self, RouteKeeper, RouteNews};
use crate::timers::route_registry::{remove_profile, OfBase, RouteChange, RouteRegistry};
use crate::worker::lanes::LaneSpec;
use crate::worker::listeners::Event;
use crate::worker::state::WorkerState;

/// The registry of routes; `None` for a worker that takes no jobs of routes.
pub fn registry(state: &WorkerState, link: &Link) -> Option<RouteRegistry> {
    let routing = state.options.routing.as_ref()?;
    let of_base = match (routing.routes_only, &routing.scan) {
        (true, _) => OfBase::None,
        (false, Some(_)) => OfBase::Fitting,
        (false, None) => OfBase::All,
    };
    let (profile, worker_id) = (routing.profile.clone(), state.options.worker_id.clone());
    Some(RouteRegistry::new(link.clone(), state.keys.clone(), profile, of_base, worker_id))
}

/// Open lanes for the routes that exist, before the first fetch: a run must not end because its routes are not known
/// yet.
pub async fn open(state: &WorkerState, registry: Option<&mut RouteRegistry>) {
    let Some(registry) = registry else { return };
    if let Err(error) = registry.look(&mut |change| note(state, change), &mut |text| state.error(text)).await {
        state.error(format!("could not look for routes: {error}"));
    }
}

/// Open lanes for new routes, and close those of retired ones, until dropped.
pub async fn watch(state: Arc<WorkerState>, registry: RouteRegistry) {
    registry.run(|change| note(&state, change), |text| state.error(text)).await;
}

/// Look after the routes until dropped.
pub async fn keep(state: Arc<WorkerState>, link: Link) {
    let keeper = RouteKeeper {
        link: link.clone(),
        keys: state.keys.clone(),
        worker_id: state.options.worker_id.clone(),
        unmatched: state.stats.unmatched.clone(),
        stalled: (!state.options.skip_stalled_check).then(|| state.options.stalled_rule()),
    };
    let news = |news: RouteNews| match news {
        RouteNews::Stalled(keys, ids) => report_stalled(&state, &link, &keys, ids),
        RouteNews::Unmatched(route) => state.emit(Event::RouteUnmatched {
            route: route.keys.name().to_owned(),
            waiting: route.waiting,
            age: route.oldest_age(now_ms()).unwrap_or(0),
        }),
        RouteNews::Rerouted(rerouted) => state.emit(Event::Notice { text: rerouted.to_string() }),
    };
    keeper.run(news, |text| state.error(text)).await;
}

/// Tell other programs that the worker has ended. Without this they see it half a minute later.
pub async fn leave(state: &WorkerState, link: &Link) {
    if state.options.routing.is_some() {
        let (keys, id) = (&state.keys, &state.options.worker_id);
        let left = async { tokio::join!(remove_profile(link, keys, id), route_keeper::release(link, keys, id)) };
        let _ = tokio::time::timeout(MAX_WAIT, left).await;
    }
}

fn note(state: &WorkerState, change: RouteChange) {
    let queue = |slug: &str| queue_of(state.keys.name(), slug);
    match change {
        RouteChange::Found(entry) => {
            if let Err(error) = state.offer_lane(&LaneSpec::new(queue(&entry.target.slug()), entry.target.tier())) {
                state.error(error.to_string());
            }
        }
        RouteChange::Retired(slug) => state.withdraw_lane(&queue(&slug)),
        RouteChange::Others(slugs) => {
            let queues: Vec<String> = slugs.iter().map(|slug| queue(slug)).collect();
            for lane in state.lanes.all() {
                lane.set_foreign(queues.iter().any(|queue| queue == lane.queue()));
            }
            state.wake.notify_one();
        }
    }
}
