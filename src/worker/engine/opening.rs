//! Opens and closes lanes, and checks their queues before the first write.

use std::sync::atomic::Ordering;
use std::sync::Arc;

use futures_util::future::join_all;

use super::lane_state::LaneState;
use super::{background, Engine};
use crate::connection::Link;
use crate::error::{Error, Result};
use crate::protocol::keys::hash_tag;
use crate::protocol::Keys;
use crate::queue::{QueueHandle, QueueOptions};
use crate::worker::finish::Finisher;
use crate::worker::results::Results;
use crate::worker::rights;

impl Engine {
    /// Open the lanes that were offered, and start the timers of those that are in use. Close those that are not used
    /// any more.
    pub(super) fn open_lanes(&mut self) {
        let changes = self.state.lanes.changes();
        if self.lanes.changes.replace(changes) == Some(changes) {
            if self.lanes.closes {
                self.close_lanes();
            }
            return;
        }
        for lane in self.state.lanes.all() {
            let known = self.lanes.states.get_mut(lane.position);
            if known.as_ref().is_some_and(|state| Arc::ptr_eq(&state.lane, &lane)) {
                continue;
            }
            let finisher = Finisher { link: self.link.clone(), lane: lane.clone(), state: self.state.clone() };
            let opened = LaneState::new(lane, finisher, &self.state.options);
            match known {
                Some(closed) => *closed = opened,
                None => self.lanes.states.push(opened),
            }
        }
        self.close_lanes();
        if self.has_several_lanes() {
            // Nothing is claimed ahead any more.
            self.state.give_back(self.state.ready_queue.withdraw_claims());
        }
        (0..self.lanes.states.len()).for_each(|position| self.start_timers(position));
    }

    /// Start the timers of a lane, if its queue can be used and is known to be used: a timer may create keys.
    pub(super) fn start_timers(&mut self, position: usize) {
        let state = &mut self.lanes.states[position];
        if state.checked && state.lane.is_registered() && state.timers.is_none() {
            let (tasks, subscriber) = (&mut self.tasks, &self.subscriber);
            state.timers = Some(background::start_lane(tasks, &self.state, &self.link, subscriber, &state.lane));
        }
    }

    /// Stop the timers of lanes whose queues nobody uses any more. The position of one that is not served is then free
    /// for another. One with a job in hand, a marker that was popped, or in a wait for markers that is not over comes
    /// later.
    fn close_lanes(&mut self) {
        self.lanes.closes = false;
        for state in &mut self.lanes.states {
            let is_used = state.lane.is_registered();
            if is_used || (state.timers.is_none() && (state.lane.is_served() || state.lane.is_closed())) {
                continue;
            }
            let waits = !state.lane.is_served() && self.waiting.waiter.is_waiting();
            if waits || state.is_occupied() {
                self.lanes.closes = true;
                continue;
            }
            state.timers.take().into_iter().flatten().for_each(|timer| timer.abort());
            self.state.lanes.close(&state.lane);
        }
    }

    pub(super) fn has_several_lanes(&self) -> bool {
        self.lanes.states.len() > 1
    }

    /// Check before the first write that this is a queue of BullMQ's on a server that supports it.
    pub(super) async fn check_server(&mut self) -> Result<()> {
        if self.state.options.has_lanes()
            && self.link.ready().await?.cluster
            && hash_tag(&format!("{}:", self.keys.prefix())).is_none()
        {
            let prefix = self.keys.prefix();
            return Err(Error::QueueName(format!(
                "Redis runs as a cluster, so a worker of several queues needs a prefix with a hash tag: use prefix \
                 \"{{{prefix}}}\""
            )));
        }
        let queue = self.queue(&self.link, &self.keys);
        rights::wait_until_usable(&self.state, &self.link, &queue).await?;
        if let Some(results) = Results::new(&self.link, &self.keys, &self.state.options)? {
            results.ready(&self.keys).await?;
        }
        self.open_lanes();
        if let Some(own) = self.lanes.states.iter().position(|state| state.lane.keys == self.keys) {
            self.accept_lane(own);
        }
        Ok(())
    }

    fn queue(&self, link: &Link, keys: &Keys) -> QueueHandle {
        let allow_legacy = self.state.options.allow_legacy;
        let options = QueueOptions { skip_metas_update: true, allow_legacy, ..QueueOptions::default() };
        QueueHandle::new(link.clone(), link.clone(), keys.clone(), options)
    }

    /// Check the queues of lanes that were not checked yet. One that cannot be used is left out for a while.
    pub(super) async fn check_lanes(&mut self) {
        let is_new = |state: &&LaneState| !state.checked && state.refused_until().is_none();
        let new: Vec<_> = self.lanes.states.iter().filter(is_new).map(|state| state.lane.clone()).collect();
        if new.is_empty() || !self.link.is_connected() {
            return;
        }
        let queues: Vec<_> = new.iter().map(|lane| self.queue(&self.fetching.link, &lane.keys)).collect();
        let checked = join_all(queues.iter().map(QueueHandle::ready)).await;
        for (lane, checked) in new.into_iter().zip(checked) {
            match checked {
                Ok(()) => self.accept_lane(lane.position),
                Err(Error::ConnectionLost(_) | Error::OutcomeUnknown(_)) => {}
                Err(error) => self.refuse_lane(lane.position, &error),
            }
        }
    }

    /// The queue of a lane can be used.
    fn accept_lane(&mut self, position: usize) {
        self.lanes.states[position].checked = true;
        self.start_timers(position);
    }

    /// Leave a lane out for a while; the others go on.
    pub(super) fn refuse_lane(&mut self, position: usize, error: &Error) {
        let state = &mut self.lanes.states[position];
        if state.refuse(error) {
            let queue = state.lane.queue();
            self.state.error(format!("queue {queue} is left out for now, the others are served: {error}"));
        }
    }

    /// Count the jobs of a lane, and of all lanes.
    pub(super) fn count_in_hand(&mut self, position: usize, count: usize) {
        let before = std::mem::replace(&mut self.lanes.states[position].in_hand, count);
        self.lanes.in_hand = self.lanes.in_hand.saturating_sub(before) + count;
        if self.lanes.in_hand == 0 {
            self.fetching.isolation.end();
        }
        self.state.stats.in_hand.store(self.lanes.in_hand, Ordering::Relaxed);
    }
}
