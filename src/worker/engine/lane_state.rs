//! What the engine knows of a lane.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use super::scan_rest::ScanRest;
use crate::error::Error;
use crate::error_once::ErrorOnce;
use crate::worker::fetch::{FetchHint, Room, SentFetch, Share};
use crate::worker::finish::Finisher;
use crate::worker::lanes::Lane;
use crate::worker::options::WorkerOptions;

/// The longest time for which a queue is left out that Redis refuses: for a reason that somebody may mend meanwhile, such
/// as a missing right, and for another one.
const PASSING_REFUSAL: Duration = Duration::from_secs(2);
const LONGEST_REFUSAL: Duration = Duration::from_secs(60);
/// Longest sleep while rate limited: the limit may be removed by hand.
const LONGEST_LIMIT: Duration = Duration::from_secs(30);
/// How long a wait for other queues may last while this one is full.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Whether Redis refuses the marker of a queue, although its other keys may be used.
#[derive(Default)]
pub struct MarkerRefusal {
    /// If it does: when it is asked again.
    asked_at: Option<Instant>,
    last: ErrorOnce,
}

impl MarkerRefusal {
    pub fn is_refused(&self) -> bool {
        self.asked_at.is_some()
    }

    pub fn is_due(&self) -> bool {
        self.asked_at.is_some_and(|at| at <= Instant::now())
    }

    /// True if the error is to be reported.
    pub fn refuse(&mut self, error: &Error) -> bool {
        self.asked_at = Some(Instant::now() + PASSING_REFUSAL);
        self.last.begins(error)
    }

    pub fn accept(&mut self) {
        self.asked_at = None;
        self.last.ends();
    }
}

pub struct LaneState {
    pub lane: Arc<Lane>,
    pub hint: FetchHint,
    pub share: Share,
    pub finisher: Arc<Finisher>,
    /// Fetches whose reply got lost.
    pub lost_replies: Vec<SentFetch>,
    pub in_hand: usize,
    /// How many jobs the calls that are in flight, or about to be sent, finish or move, and how many they fetch at
    /// most.
    pub leaving: usize,
    pub coming: usize,
    /// Of a queue that is scanned.
    pub rest: ScanRest,
    pub marker: MarkerRefusal,
    /// It was checked that the queue can be used.
    pub checked: bool,
    /// The tasks beside the engine's loop, while they run.
    pub timers: Option<Vec<AbortHandle>>,
    /// Redis refuses the keys of this queue: it is left out until then, the next time for so long.
    refused_until: Option<Instant>,
    next_refusal: Duration,
}

impl LaneState {
    pub fn new(lane: Arc<Lane>, finisher: Finisher, options: &WorkerOptions) -> Self {
        Self {
            lane,
            hint: FetchHint::default(),
            share: Share::new(options.limiter),
            finisher: Arc::new(finisher),
            lost_replies: Vec::new(),
            in_hand: 0,
            leaving: 0,
            coming: 0,
            rest: ScanRest::default(),
            marker: MarkerRefusal::default(),
            checked: false,
            timers: None,
            refused_until: None,
            next_refusal: options.run_retry_delay,
        }
    }

    /// Whether it may be used, and jobs may be fetched now if there are any and the worker has room for them.
    pub fn is_open(&self) -> bool {
        self.checked
            && !self.is_left_out()
            && self.rest.until().is_none()
            && !self.lane.is_limited()
            && self.own_room() > 0
    }

    /// Whether the worker must not, or cannot, look at this queue now.
    pub fn is_left_out(&self) -> bool {
        !self.lane.is_served() || self.refused_until().is_some()
    }

    /// Whether the worker may take further jobs here, not only for slots that become free.
    pub fn may_grow(&self) -> bool {
        self.is_open() && !self.share.is_offering(Instant::now())
    }

    /// Whether the worker may wait here for further jobs.
    pub fn may_wait(&self) -> bool {
        self.may_grow() && !self.marker.is_refused()
    }

    /// When further jobs may be taken here, if not now. If only the end of a job decides that: when to look again.
    pub fn opens_at(&self, now: Instant) -> Option<Instant> {
        if !self.lane.is_served() {
            return None;
        }
        let limited = self.lane.limited_for().map(|left| now + left);
        let known =
            [limited, self.refused_until(), self.rest.until(), self.share.offer_ends(now), self.marker.asked_at];
        let known = known.into_iter().flatten().max();
        known.or_else(|| (!self.may_grow()).then(|| now + LOOK_AGAIN))
    }

    /// For how long a limit, a refusal or a rest keeps the worker from this queue.
    pub fn closed_for(&self, now: Instant) -> Option<Duration> {
        let limited = self.lane.limited_for().map(|left| left.min(LONGEST_LIMIT));
        let refused = self.refused_until().max(self.rest.until()).map(|until| until.saturating_duration_since(now));
        limited.max(refused)
    }

    /// So many jobs are about to leave.
    pub fn leave(&mut self, count: usize) {
        self.leaving += count;
        if count > 0 && self.share.is_full() {
            self.hint.look_again();
        }
    }

    /// Whether something of this queue is in hand or on its way.
    pub fn is_occupied(&self) -> bool {
        self.in_hand + self.leaving + self.coming > 0 || !self.lost_replies.is_empty() || self.hint.has_popped()
    }

    /// How many more jobs of this queue there may be.
    fn own_room(&self) -> usize {
        let taken = self.in_hand.saturating_sub(self.leaving) + self.coming;
        self.lane.concurrency.map_or(usize::MAX, |most| most.saturating_sub(taken))
    }

    /// The part of the room of the worker that this queue may fill.
    pub fn room(&self, room: Room) -> Room {
        let most = self.own_room();
        Room { count: room.count.min(most), slots: room.slots.min(most), ..room }
    }

    /// Redis refuses the keys of this queue: leave it out for a while, each time for longer. True if the error is to be
    /// reported.
    pub fn refuse(&mut self, error: &Error) -> bool {
        let longest = if error.is_passing() { PASSING_REFUSAL } else { LONGEST_REFUSAL };
        self.next_refusal = self.next_refusal.min(longest);
        self.refused_until = Some(Instant::now() + self.next_refusal);
        self.next_refusal *= 2;
        self.hint.look_again();
        self.lane.refusal.begins(error)
    }

    /// Redis accepts the keys of this queue. True if it has refused them before.
    pub fn accept(&mut self, refusal: Duration) -> bool {
        let was_refused = self.refused_until.take().is_some();
        if was_refused {
            self.lane.refusal.ends();
            self.next_refusal = refusal;
        }
        was_refused
    }

    pub fn refused_until(&self) -> Option<Instant> {
        self.refused_until.filter(|until| Instant::now() < *until)
    }
}
