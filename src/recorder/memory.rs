//! What was read and is not written yet: so reading never waits for a disk, as long as there is room.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use tokio::sync::{watch, Notify};

use super::sample::{Budget, Pressure};
use super::seen::{Batch, Seen};
use crate::mutex::Mutex;

/// Events that are held at most. When there are so many, nothing is read until some are written.
const MOST: usize = 300_000;
/// What was read together is handed on when it has so many events, or after this time.
const EVENTS: usize = 5_000;
const TOGETHER: Duration = Duration::from_millis(100);
/// About so many events are handed on at once, and at most so many per second: who writes them must not take the
/// processor from who reads. It is more than are kept in the long run.
const HANDED: usize = 10_000;
const PACE: u32 = 40_000;

/// Holds what was read, up to a bound.
pub(super) struct Memory {
    held: Mutex<Held>,
    came: Notify,
    is_full: watch::Sender<bool>,
}

struct Held {
    waiting: VecDeque<Waiting>,
    /// The number of the first one that waits, and that of the last one of each queue. They count up.
    first: usize,
    last: HashMap<String, usize>,
    events: usize,
    weight: usize,
    budget: Budget,
    pace: u32,
    /// Before this nothing more is handed on.
    paced: Instant,
    queues: usize,
    /// Up to when each server was read, if that is known; servers are missing of which no queue can be read.
    until: HashMap<usize, Option<i64>>,
    is_closed: bool,
}

struct Waiting {
    seen: Seen,
    weight: usize,
    at: Instant,
    /// Up to when everything was read before this.
    until: Option<i64>,
}

impl Memory {
    pub fn new(events_per_second: u32) -> Self {
        let held = Held {
            waiting: VecDeque::new(),
            first: 0,
            last: HashMap::new(),
            events: 0,
            weight: 0,
            budget: Budget::new(events_per_second, Instant::now()),
            pace: events_per_second.saturating_mul(2).max(PACE),
            paced: Instant::now(),
            queues: 0,
            until: HashMap::new(),
            is_closed: false,
        };
        Memory { held: Mutex::new(held), came: Notify::new(), is_full: watch::Sender::new(false) }
    }

    /// Another queue is read from this server.
    pub fn expect(&self, server: usize) {
        let mut held = self.held.lock();
        held.queues += 1;
        held.until.insert(server, None);
    }

    /// How much a queue should keep of what it reads next.
    pub fn pressure(&self, now: Instant) -> Pressure {
        let mut held = self.held.lock();
        let (level, queues) = (held.weight as f64 / MOST as f64, held.queues);
        held.budget.pressure(level, queues, now)
    }

    /// How many queues are read.
    pub fn queues(&self) -> usize {
        self.held.lock().queues
    }

    /// Waits until there is room.
    pub async fn room(&self) {
        // It cannot fail: the sender is here.
        let _ = self.is_full.subscribe().wait_for(|is_full| !is_full).await;
    }

    /// Takes what was read from a server. `until` is up to when all of its queues were read, if that is known; `None`
    /// if none of them can be read.
    pub fn add(&self, server: usize, seen: Vec<Seen>, until: Option<Option<i64>>, now: Instant) {
        let mut held = self.held.lock();
        for one in seen {
            held.push(one, now);
        }
        match until {
            Some(until) => held.until.insert(server, until),
            None => held.until.remove(&server),
        };
        let is_full = held.weight >= MOST;
        drop(held);
        self.tell(is_full);
        self.came.notify_one();
    }

    /// Hands on what waits, some of it at a time; nothing if nothing has come before `limit`. `None`: it was closed,
    /// and everything was handed on.
    pub async fn next(&self, limit: Duration) -> Option<Batch> {
        let end = Instant::now() + limit;
        loop {
            let wake = {
                let (mut held, now) = (self.held.lock(), Instant::now());
                let due = held.due();
                if held.is_closed || due.is_some_and(|due| due <= now) {
                    let (batch, is_full) = (held.take(now), held.weight >= MOST);
                    drop(held);
                    self.tell(is_full);
                    return batch;
                }
                if now >= end {
                    return Some(Batch { seen: Vec::new(), until: held.until() });
                }
                due.map_or(end, |due| due.min(end))
            };
            tokio::select! {
                () = tokio::time::sleep_until(wake.into()) => {}
                () = self.came.notified() => {}
            }
        }
    }

    /// Nothing comes any more; what waits is still handed on.
    pub fn close(&self) {
        self.held.lock().is_closed = true;
        self.came.notify_one();
    }

    fn tell(&self, is_full: bool) {
        self.is_full.send_if_modified(|known| std::mem::replace(known, is_full) != is_full);
    }
}

impl Held {
    fn push(&mut self, seen: Seen, now: Instant) {
        let (events, weight) = (seen.events.len(), seen.weight());
        self.budget.spend(events, now);
        self.events += events;
        self.weight += weight;
        let last = self.last.get(&seen.queue).map(|number| number - self.first);
        if let Some(before) = last.and_then(|place| self.waiting.get_mut(place)) {
            if before.seen.goes_on_with(&seen) && before.seen.events.len() < EVENTS {
                before.weight += weight;
                before.seen.join(seen);
                return;
            }
        }
        self.last.insert(seen.queue.clone(), self.first + self.waiting.len());
        let until = self.read_until();
        self.waiting.push_back(Waiting { seen, weight, at: now, until });
    }

    /// When the first of what waits is handed on.
    fn due(&self) -> Option<Instant> {
        let first = self.waiting.front()?;
        Some(if self.events >= EVENTS { first.at } else { first.at + TOGETHER }.max(self.paced))
    }

    /// The next part of what waits; `None` if nothing does.
    fn take(&mut self, now: Instant) -> Option<Batch> {
        let (mut seen, mut events) = (Vec::new(), 0);
        while events < HANDED {
            let Some(Waiting { seen: first, weight, .. }) = self.waiting.pop_front() else { break };
            if self.last.get(&first.queue) == Some(&self.first) {
                self.last.remove(&first.queue);
            }
            self.first += 1;
            self.weight -= weight;
            events += first.events.len();
            seen.push(first);
        }
        self.events -= events;
        self.paced = now + Duration::from_secs_f64(events as f64 / f64::from(self.pace));
        (!seen.is_empty()).then(|| Batch { seen, until: self.until() })
    }

    /// Up to when everything was handed on.
    fn until(&self) -> Option<i64> {
        self.waiting.front().map_or_else(|| self.read_until(), |first| first.until)
    }

    /// Up to when everything was read.
    fn read_until(&self) -> Option<i64> {
        self.until.values().copied().min().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Event, Kind};

    const SOON: Duration = Duration::from_secs(5);

    fn seen(queue: &str, position: &str, events: usize) -> Seen {
        let event = Event { kind: Kind::Active, job: "1".into(), at: 1, text: None };
        let (queue, position) = (queue.to_owned(), position.to_owned());
        Seen { queue, position, events: vec![event; events], share: 1, ..Seen::default() }
    }

    /// A memory of two queues on a server, which was read up to a time.
    fn memory() -> Memory {
        let memory = Memory::new(1_000);
        memory.expect(0);
        memory.expect(0);
        memory
    }

    fn positions(batch: &Batch) -> Vec<(&str, &str, usize)> {
        batch.seen.iter().map(|seen| (&seen.queue[..], &seen.position[..], seen.events.len())).collect()
    }

    #[tokio::test]
    async fn reads_of_a_queue_that_follow_each_other_become_one() {
        let (memory, now) = (memory(), Instant::now());
        memory.add(0, vec![seen("a", "1-0", 2), seen("b", "1-0", 1)], Some(Some(10)), now);
        memory.add(0, vec![seen("a", "2-0", 3)], Some(Some(20)), now);
        let batch = memory.next(SOON).await.unwrap();
        assert_eq!((positions(&batch), batch.until), (vec![("a", "2-0", 5), ("b", "1-0", 1)], Some(20)));
    }

    #[tokio::test]
    async fn a_gap_and_another_sample_stay_apart_from_what_was_before() {
        let (memory, now) = (memory(), Instant::now());
        let gap = Seen { gap: Some((1, 2)), ..seen("a", "2-0", 1) };
        let sampled = Seen { share: 2, ..seen("a", "4-0", 1) };
        memory.add(0, vec![seen("a", "1-0", 1), gap, seen("a", "3-0", 1), sampled], Some(None), now);
        let batch = memory.next(SOON).await.unwrap();
        assert_eq!(positions(&batch), [("a", "1-0", 1), ("a", "3-0", 2), ("a", "4-0", 1)]);
    }

    #[tokio::test]
    async fn what_is_handed_on_says_nothing_about_what_still_waits() {
        let (memory, now) = (memory(), Instant::now());
        memory.add(0, vec![seen("a", "1-0", HANDED)], Some(Some(10)), now);
        memory.add(0, vec![seen("b", "2-0", 1)], Some(Some(20)), now);
        assert_eq!(memory.next(SOON).await.unwrap().until, Some(10));
        assert_eq!(memory.next(SOON).await.unwrap().until, Some(20));
    }

    #[tokio::test]
    async fn who_writes_does_not_get_more_at_a_time_than_leaves_the_processor_to_who_reads() {
        let (memory, now) = (memory(), Instant::now());
        memory.add(0, vec![seen("a", "1-0", HANDED), seen("b", "1-0", HANDED)], Some(None), now);
        memory.next(SOON).await.unwrap();
        memory.next(SOON).await.unwrap();
        assert!(now.elapsed() >= Duration::from_secs(1) / (PACE / HANDED as u32));
    }

    #[tokio::test]
    async fn a_full_memory_stops_reading_until_something_was_handed_on() {
        let (memory, now) = (memory(), Instant::now());
        memory.room().await;
        let many = || seen("a", "1-0", HANDED);
        memory.add(0, (0..MOST / HANDED).map(|_| many()).collect(), Some(None), now);
        assert!(tokio::time::timeout(Duration::from_millis(20), memory.room()).await.is_err());
        memory.next(SOON).await.unwrap();
        memory.room().await;
    }

    #[tokio::test]
    async fn when_it_is_closed_the_rest_is_handed_on_and_then_nothing() {
        let memory = memory();
        memory.add(0, vec![seen("a", "1-0", 1)], Some(None), Instant::now());
        memory.close();
        assert_eq!(memory.next(SOON).await.unwrap().seen.len(), 1);
        assert!(memory.next(SOON).await.is_none());
    }

    #[tokio::test]
    async fn it_is_not_known_until_when_all_was_seen_before_each_server_was_read() {
        let (memory, now) = (memory(), Instant::now());
        memory.expect(1);
        memory.add(0, Vec::new(), Some(Some(10)), now);
        assert_eq!(memory.next(Duration::ZERO).await.unwrap().until, None);
        memory.add(1, Vec::new(), Some(Some(5)), now);
        assert_eq!(memory.next(Duration::ZERO).await.unwrap().until, Some(5));
        memory.add(1, Vec::new(), None, now);
        assert_eq!(memory.next(Duration::ZERO).await.unwrap().until, Some(10));
    }
}
