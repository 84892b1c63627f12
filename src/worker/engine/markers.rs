//! The markers of the lanes: which are waited for, and what becomes of one that was popped.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::lane_state::LaneState;
use super::waits::SHORTEST_WAIT;
use super::Engine;
use crate::clock::now_ms;
use crate::worker::fetch::{Marker, Popped, Watch};
use crate::worker::sleep::{jittered, millis};

/// A bug that the fault suite has to find: a worker that has jobs in hand forgets the marker that it has popped.
const FORGETS_MARKERS: bool = cfg!(feature = "planted-lost-wake-up");

/// How often a worker looks at the markers of its queues that had no jobs, while it waits for none. With many queues
/// not so often: each look costs the server about a microsecond per queue.
const MARKER_POLL: Duration = Duration::from_millis(25);
const POLL_PER_LANE: Duration = Duration::from_micros(400);
/// The longest wait of a worker that may get further lanes, up to 2 s with its jitter: a lane that is opened meanwhile
/// is not waited for yet.
const LONGEST_WAIT: Duration = Duration::from_millis(1800);

impl Engine {
    /// Check for a marker that was popped while the engine was busy, and put those back that are of no use here.
    pub(super) async fn check_markers(&mut self, can_fetch: bool) {
        if let Some(popped) = self.waiting.waiter.poll() {
            self.note_popped(popped);
        }
        if can_fetch {
            self.take_markers().await;
        }
        let no_use = |state: &&mut LaneState| state.hint.has_popped() && !(can_fetch && state.may_grow());
        let no_use = self.lanes.states.iter_mut().filter(no_use);
        let markers = no_use.filter_map(|state| Some((state.lane.clone(), state.hint.take_popped()?))).collect();
        self.fetching.fetcher.put_back(markers).await;
    }

    /// Take the markers of many lanes at once, when one of them has woken the worker. Each wait brings one: of many
    /// lanes that got jobs together, the last would be served after as many waits.
    async fn take_markers(&mut self) {
        let lanes = self.lanes.states.len();
        if !self.waiting.woken
            || self.waiting.waiter.is_waiting()
            || !self.waiting.order.takes_all(lanes, Instant::now())
        {
            return;
        }
        let open = self.lanes.states.iter().filter(|state| state.may_grow() && !state.hint.has_popped());
        let open: Vec<_> = open.map(|state| state.lane.clone()).collect();
        match self.fetching.fetcher.take_markers(&open).await {
            Ok(taken) => taken.into_iter().for_each(|marker| self.note_popped(Ok(Some(marker)))),
            Err(error) => self.note_popped(Err(error)),
        }
        self.waiting.woken = false;
    }

    /// Wait for markers on a new connection, if the pending wait does not end.
    pub(super) fn renew_wait(&mut self) {
        let renew = &self.state.renew_wait;
        if renew.load(Ordering::Acquire) && renew.swap(false, Ordering::AcqRel) {
            self.waiting.waiter.restart();
            self.look_again();
        }
    }

    /// Put the markers back that led to scans without a result, when the rest after them is over: another worker may
    /// match.
    pub(super) async fn return_markers(&mut self) {
        let led_nowhere = self.lanes.states.iter_mut().filter_map(|state| {
            state.rest.take_marker().then(|| (state.lane.clone(), Marker::plain(state.lane.position)))
        });
        let markers = led_nowhere.collect();
        self.fetching.fetcher.put_back(markers).await;
    }

    pub(super) fn note_popped(&mut self, popped: Popped) {
        match popped {
            Ok(Some(_)) if FORGETS_MARKERS && self.lanes.in_hand > 0 => {}
            Ok(Some(marker)) => {
                self.waiting.woken = true;
                if let Some(state) = self.lanes.states.get_mut(marker.lane) {
                    state.hint.note_marker(marker);
                    state.share.note_popped();
                }
            }
            Ok(None) => {
                self.waiting.empty_after = Some(self.fetching.count);
                if self.waiting.for_all {
                    self.waiting.looked_everywhere = None;
                }
                self.look_in_turn();
            }
            // A marker may have got lost, or the keys of a lane are refused: a fetch tells which.
            Err(error) => {
                self.waiting.refused = error.is_about_keys() && self.has_several_lanes();
                self.look_again();
            }
        }
    }

    /// Find the markers that Redis refuses: it refuses each wait in which one of them is, for all queues. They are left
    /// out of the waits, and asked for again from time to time.
    pub(super) async fn check_refused_markers(&mut self) {
        let all = std::mem::take(&mut self.waiting.refused);
        let asked = self.lanes.states.iter().filter(|state| all && state.is_open() || state.marker.is_due());
        let asked: Vec<_> = asked.map(|state| state.lane.clone()).collect();
        if asked.is_empty() {
            return;
        }
        let Ok(refusals) = self.fetching.fetcher.refused_markers(&asked).await else { return };
        for (lane, refusal) in asked.iter().zip(refusals) {
            let state = &mut self.lanes.states[lane.position];
            match refusal {
                Some(error) if state.marker.refuse(&error) => self.state.error(format!(
                    "the marker of queue {} is refused, so its jobs are found late: {error}",
                    lane.queue()
                )),
                Some(_) => {}
                None => state.marker.accept(),
            }
        }
    }

    /// See whether queues that had no jobs have some now. A worker that is never idle waits for no marker, and the jobs
    /// of one queue must not hide those of the others. After a wait in vain, and every other second while other queues
    /// have jobs, markers do not count: nothing may depend on them, and one may be missing, as when a program of BullMQ
    /// ends a job by hand that had the last place of its queue.
    pub(super) async fn poll_markers(&mut self) {
        // Without a job since the last wait, which looked at the markers, the worker is idle and waits again.
        let is_idle = self.waiting.empty_after == Some(self.fetching.count);
        if !self.has_several_lanes() || self.waiting.waiter.is_waiting() {
            return;
        }
        let everywhere = self.waiting.looked_everywhere.is_none_or(|at| at.elapsed() >= LONGEST_WAIT);
        if !everywhere && (is_idle || self.waiting.polled.elapsed() < self.poll_pause()) {
            return;
        }
        self.waiting.polled = Instant::now();
        if everywhere {
            self.waiting.looked_everywhere = Some(self.waiting.polled);
        }
        let idle = self.lanes.states.iter().filter(|state| state.hint.is_idle() && state.is_open());
        let idle: Vec<_> = idle.map(|state| state.lane.clone()).collect();
        let Ok(with_jobs) = self.fetching.fetcher.with_jobs(idle, !everywhere).await else { return };
        for lane in with_jobs {
            self.lanes.states[lane.position].hint.look_again();
        }
    }

    fn poll_pause(&self) -> Duration {
        let lanes = u32::try_from(self.lanes.states.len()).unwrap_or(u32::MAX);
        MARKER_POLL.max(POLL_PER_LANE.saturating_mul(lanes))
    }

    /// Look for jobs in one lane although nothing says that there are any: nothing may depend on a marker.
    pub(super) fn look_in_turn(&mut self) {
        self.waiting.looked_at = (self.waiting.looked_at + 1) % self.lanes.states.len().max(1);
        if let Some(state) = self.lanes.states.get_mut(self.waiting.looked_at) {
            state.hint.look_again();
        }
    }

    /// There may be jobs again in the lanes of which a message said so.
    pub(super) fn look_where_hinted(&mut self) {
        if self.state.options.notify {
            self.lanes
                .states
                .iter_mut()
                .filter(|state| state.lane.take_hint())
                .for_each(|state| state.hint.look_again());
        }
    }

    /// What to wait for next: the lanes that may be served, or a few of them for a moment. `None`: there is no such
    /// lane.
    ///
    /// BZPOPMIN prefers the first key, so the order changes with each wait, within each tier. A pending wait does not
    /// change: it goes on for at most [`LONGEST_WAIT`] if there may be other lanes.
    pub(super) fn watch(&mut self) -> Option<Watch> {
        let (count, now) = (self.lanes.states.len(), Instant::now());
        let rests = |state: &LaneState| count == 1 && state.in_hand > 0 && state.share.rests_until(now).is_some();
        let open =
            |position: usize| Some(&self.lanes.states[position]).filter(|state| state.may_wait() && !rests(state));
        let positions = self.waiting.order.positions(count);
        let mut lanes: Vec<_> = positions.filter_map(open).map(|state| state.lane.clone()).collect();
        let most = if self.state.options.has_lanes() { LONGEST_WAIT } else { Duration::MAX };
        let mut timeout = jittered(self.state.options.drain_delay.min(most));
        let (most, part_ends) = self.waiting.order.part(lanes.len(), now);
        self.waiting.for_all = most == lanes.len();
        if most < lanes.len() {
            // At its global concurrency a queue sets a marker for each place that is left to others: who waits for it
            // only now and then gets none of them.
            lanes.sort_by_key(|lane| !self.lanes.states[lane.position].share.is_full());
            lanes.truncate(most);
        }
        timeout = part_ends.map_or(timeout, |rest| timeout.min(rest));
        lanes.sort_by_key(|lane| lane.tier);
        // Then the marker of a queue that is left out of this wait is waited for again.
        if let Some(end) = self.lanes.states.iter().filter_map(|state| state.opens_at(now)).min() {
            timeout = timeout.min(end.saturating_duration_since(Instant::now()).max(SHORTEST_WAIT));
        }
        (!lanes.is_empty()).then_some(Watch { lanes, timeout })
    }

    /// When a lane may be served again that may not now.
    pub(super) fn next_opening(&self) -> Option<Instant> {
        let now = Instant::now();
        self.lanes.states.iter().filter_map(|state| state.closed_for(now)).min().map(|left| now + left)
    }

    /// How long until a lane may be served again, or a job of one that is served is due.
    pub(super) fn next_change(&self, may_fetch: bool) -> Option<Duration> {
        let (now, now_ms) = (Instant::now(), now_ms());
        let change = |state: &LaneState| {
            let due = || state.hint.due_at().filter(|_| may_fetch).map(|at| millis(at - now_ms));
            let share =
                || state.share.next_change(now).filter(|_| may_fetch).map(|at| at.saturating_duration_since(now));
            state.closed_for(now).or_else(|| [due(), share()].into_iter().flatten().min())
        };
        let opening = self.waiting.opening.map(|at| at.saturating_duration_since(now));
        self.lanes.states.iter().filter_map(change).chain(opening).min()
    }

    /// There may be jobs again, wherever they are.
    pub(super) fn look_again(&mut self) {
        self.lanes.states.iter_mut().for_each(|state| state.hint.look_again());
    }

    /// The time of a change has come.
    pub(super) fn look_again_if_due(&mut self) {
        let now = now_ms();
        self.lanes.states.iter_mut().for_each(|state| state.hint.look_again_if_due(now));
    }
}
