//! The events that listeners have not read yet.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::event::Event;
use crate::mutex::{Condvar, Mutex};

/// Further notices are dropped while this many wait.
const MAX_NOTICES: usize = 1000;
/// No more jobs are fetched while this many outcomes wait, or this many bytes of them. Outcomes that someone listens to
/// are never dropped, so slow listeners slow the worker down, as they do in Node.
const MANY_OUTCOMES: usize = 10_000;
const MANY_BYTES: usize = 64 << 20;

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    notices: usize,
    outcomes: usize,
    bytes: usize,
    /// Dropped events that were not reported yet.
    dropped: u64,
}

impl Queue {
    fn is_long(&self, share: usize) -> bool {
        self.outcomes >= MANY_OUTCOMES / share || self.bytes >= MANY_BYTES / share
    }
}

/// The queue between the engine and the thread that calls listeners.
#[derive(Default)]
pub struct Backlog {
    queue: Mutex<Queue>,
    pushed: Condvar,
    long: AtomicBool,
    dropped: AtomicU64,
}

enum Kind {
    Outcome(usize),
    Notice,
    /// Must not be dropped.
    Required,
}

fn kind(event: &Event) -> Kind {
    match event {
        Event::Completed { job, value, .. } => Kind::Outcome(job.record.size() + value.len()),
        Event::Failed { job, stacktrace, .. } | Event::Retried { job, stacktrace, .. } => {
            Kind::Outcome(job.record.size() + stacktrace.len())
        }
        Event::Refused { job } => Kind::Outcome(job.record.size()),
        Event::Cancelled { .. } | Event::LockLost { .. } | Event::Closed | Event::Dropped { .. } => Kind::Required,
        _ => Kind::Notice,
    }
}

impl Backlog {
    pub fn push(&self, event: Event) {
        let mut queue = self.queue.lock();
        match kind(&event) {
            Kind::Outcome(bytes) => {
                queue.outcomes += 1;
                queue.bytes += bytes;
                if queue.is_long(1) {
                    self.long.store(true, Ordering::Relaxed);
                }
            }
            Kind::Notice if queue.notices >= MAX_NOTICES => {
                queue.dropped += 1;
                self.dropped.fetch_add(1, Ordering::Relaxed);
                return;
            }
            Kind::Notice => queue.notices += 1,
            Kind::Required => {}
        }
        queue.events.push_back(event);
        drop(queue);
        self.pushed.notify_one();
    }

    /// Take the first event, waiting for one at most `wait`. Also returns whether there is room for outcomes again.
    pub fn pop(&self, wait: Duration) -> (Option<Event>, bool) {
        let mut queue = self.queue.lock();
        if queue.events.is_empty() && queue.dropped == 0 && !wait.is_zero() {
            (queue, _) = self.pushed.wait(queue, wait);
        }
        let Some(event) = queue.events.pop_front() else {
            // Reported once per burst: a burst is over when the queue is empty.
            let count = std::mem::take(&mut queue.dropped);
            return ((count > 0).then_some(Event::Dropped { count }), false);
        };
        match kind(&event) {
            Kind::Outcome(bytes) => {
                queue.outcomes -= 1;
                queue.bytes -= bytes;
            }
            Kind::Notice => queue.notices -= 1,
            Kind::Required => {}
        }
        let has_room = self.is_long() && !queue.is_long(2);
        if has_room {
            self.long.store(false, Ordering::Relaxed);
        }
        (Some(event), has_room)
    }

    /// Whether the listeners are so far behind that no more jobs should be fetched.
    pub fn is_long(&self) -> bool {
        self.long.load(Ordering::Relaxed)
    }

    /// How many outcomes wait.
    pub fn waiting(&self) -> usize {
        self.queue.lock().outcomes
    }

    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(number: usize) -> Event {
        Event::Error { text: number.to_string() }
    }

    fn next(backlog: &Backlog) -> Option<Event> {
        backlog.pop(Duration::ZERO).0
    }

    #[test]
    fn notices_beyond_the_bound_are_dropped_counted_and_reported_after_the_others() {
        let backlog = Backlog::default();
        (0..MAX_NOTICES + 500).for_each(|number| backlog.push(notice(number)));
        for number in 0..MAX_NOTICES {
            assert!(matches!(next(&backlog), Some(Event::Error { text }) if text == number.to_string()));
        }
        assert!(matches!(next(&backlog), Some(Event::Dropped { count: 500 })));
        assert!(next(&backlog).is_none());
        assert_eq!(backlog.dropped(), 500);
    }

    #[test]
    fn a_required_event_is_never_dropped() {
        let backlog = Backlog::default();
        (0..MAX_NOTICES).for_each(|number| backlog.push(notice(number)));
        backlog.push(Event::LockLost { id: "7".to_owned(), token: "t".into() });
        for _ in 0..MAX_NOTICES {
            assert!(matches!(next(&backlog), Some(Event::Error { .. })));
        }
        assert!(matches!(next(&backlog), Some(Event::LockLost { .. })));
    }
}
