//! Events on their way to the listeners.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::event::Event;
use crate::lock::{Condvar, Mutex};

/// Events that nobody asked for are dropped while so many wait.
const MAX_NOTICES: usize = 1000;
/// While so many outcomes wait, or so many bytes of them, no more jobs are taken: an outcome that someone listens to is
/// never dropped, so slow listeners slow the worker, as they do in Node.
const MANY_OUTCOMES: usize = 10_000;
const MANY_BYTES: usize = 64 << 20;

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    notices: usize,
    outcomes: usize,
    bytes: usize,
    /// Not told yet.
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
    /// Whoever runs the worker must know.
    Order,
}

fn kind(event: &Event) -> Kind {
    match event {
        Event::Completed { job, value, .. } => Kind::Outcome(job.record.size() + value.len()),
        Event::Failed { job, stacktrace, .. } | Event::Retried { job, stacktrace, .. } => {
            Kind::Outcome(job.record.size() + stacktrace.len())
        }
        Event::Refused { job } => Kind::Outcome(job.record.size()),
        Event::Cancelled { .. } | Event::LockLost { .. } | Event::Closed | Event::Dropped { .. } => Kind::Order,
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
            Kind::Order => {}
        }
        queue.events.push_back(event);
        drop(queue);
        self.pushed.notify_one();
    }

    /// Take the first event, waiting for one at most `wait`; and whether there is room again for outcomes.
    pub fn pop(&self, wait: Duration) -> (Option<Event>, bool) {
        let mut queue = self.queue.lock();
        if queue.events.is_empty() && queue.dropped == 0 && !wait.is_zero() {
            (queue, _) = self.pushed.wait(queue, wait);
        }
        let Some(event) = queue.events.pop_front() else {
            // Once per burst: it is over when nothing waits any more.
            let count = std::mem::take(&mut queue.dropped);
            return ((count > 0).then_some(Event::Dropped { count }), false);
        };
        match kind(&event) {
            Kind::Outcome(bytes) => {
                queue.outcomes -= 1;
                queue.bytes -= bytes;
            }
            Kind::Notice => queue.notices -= 1,
            Kind::Order => {}
        }
        let has_room = self.is_long() && !queue.is_long(2);
        if has_room {
            self.long.store(false, Ordering::Relaxed);
        }
        (Some(event), has_room)
    }

    /// Whether the listeners are so far behind that no more jobs should be taken.
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
    fn notices_beyond_the_bound_are_dropped_counted_and_told_once_the_others_are() {
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
    fn what_whoever_runs_the_worker_must_know_is_never_dropped() {
        let backlog = Backlog::default();
        (0..MAX_NOTICES).for_each(|number| backlog.push(notice(number)));
        backlog.push(Event::LockLost { id: "7".to_owned() });
        for _ in 0..MAX_NOTICES {
            assert!(matches!(next(&backlog), Some(Event::Error { .. })));
        }
        assert!(matches!(next(&backlog), Some(Event::LockLost { .. })));
    }
}
