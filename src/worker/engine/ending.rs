//! When a run ends by itself.

use futures_util::future::join_all;

use super::lane_state::LaneState;
use super::Engine;
use crate::clock::now_ms;
use crate::error::{Error, Result};
use crate::protocol::Keys;
use crate::queue::routes::{revive, routes, Listed};
use crate::scripts::inspect::is_drained;
use crate::worker::listeners::Event;
use crate::worker::options::Until;

impl Engine {
    /// Whether a run that ends by itself has nothing left to do. Called only with nothing in hand.
    pub(super) async fn has_ended(&mut self) -> bool {
        if self.end.allows(self.fetching.count) == 0 {
            return true;
        }
        match self.end.limits.until {
            Until::Closed => false,
            Until::Empty => self.lanes.states.iter().all(|state| {
                let is_empty = state.hint.is_idle() && state.lane.limited_for().is_none();
                is_empty || state.is_left_out()
            }),
            Until::Drained => match self.is_drained().await {
                Ok(drained) => drained,
                Err(error) => {
                    // A lost connection is reported elsewhere.
                    if matches!(error, Error::Server { .. }) && self.end.outage.begins(&error) {
                        self.state
                            .error(format!("cannot see whether all queues are drained, so the run goes on: {error}"));
                    }
                    false
                }
            },
        }
    }

    /// Whether the queues of all lanes are drained, and if they are routes, all registered routes of the same queue:
    /// another worker may have stopped before it was done with one.
    async fn is_drained(&mut self) -> Result<bool> {
        let (link, horizon) = (self.fetching.link.clone(), self.end.limits.horizon_ms);
        if let Some(keys) = self.end.undrained.clone() {
            if !is_drained(&link, &keys, now_ms(), horizon).await? {
                return Ok(false);
            }
        }
        let usable = self.lanes.states.iter().filter(|state| state.checked && !state.is_left_out());
        let mut queues: Vec<Keys> = usable.map(|state| state.lane.keys.clone()).collect();
        if self.state.options.routing.is_some() {
            queues.extend(routes(&link, &self.keys, &[Listed::Live]).await?);
            queues.push(self.keys.clone());
            queues.sort_unstable_by(|one, other| one.name().cmp(other.name()));
            queues.dedup();
        }
        let drained = join_all(queues.iter().map(|keys| is_drained(&link, keys, now_ms(), horizon))).await;
        for (keys, drained) in queues.into_iter().zip(drained) {
            if !drained? {
                self.tell_of_route(&keys);
                self.end.undrained = Some(keys);
                return Ok(false);
            }
        }
        // A program that does not register may have added jobs to a route that had retired.
        Ok(self.state.options.routing.is_none() || revive(&link, &self.keys).await? == 0)
    }

    /// Say once per run that only jobs of others keep it from ending.
    fn tell_of_route(&mut self, keys: &Keys) {
        let is_served = |state: &LaneState| state.lane.keys == *keys && state.lane.is_served();
        if !self.end.route_reported && !self.lanes.states.iter().any(is_served) {
            self.end.route_reported = true;
            let text =
                format!("waits for jobs in {}, which this worker does not match, until all are drained", keys.name());
            self.state.emit(Event::Notice { text });
        }
    }
}
