//! The time in which a job runs alone.

use std::time::{Duration, Instant};

/// The shortest time for which a job runs alone, as a part of the longest.
const SHORTEST: u32 = 10;

/// The time in which a job runs alone, since its next stall would fail it: one that ends its process must not fail
/// others.
///
/// After that time others run beside it, since a long job must not hold up the queue. Each further one in a row has
/// half the time: a worker that died had many jobs, and most of them do no harm.
pub struct Isolation {
    longest: Duration,
    /// Such a job runs, or waits until nothing else is in hand.
    since: Option<Instant>,
    /// For how long, and the next such job of the row.
    time: Duration,
    next: Duration,
}

impl Isolation {
    pub fn new(longest: Duration) -> Self {
        Self { longest, since: None, time: longest, next: longest }
    }

    /// Such a job waits.
    pub fn expect(&mut self) {
        if self.since.is_none() {
            (self.since, self.time) = (Some(Instant::now()), self.next);
        }
    }

    /// Such a job starts.
    pub fn begin(&mut self) {
        (self.since, self.time) = (Some(Instant::now()), self.next);
        self.next = (self.next / 2).max(self.longest / SHORTEST);
    }

    /// Nothing is in hand.
    pub fn end(&mut self) {
        self.since = None;
    }

    /// Other jobs were fetched, by a decision of that moment: no such job is next.
    pub fn end_row(&mut self, decided: Instant) {
        if self.since.is_none_or(|since| since < decided) {
            *self = Self::new(self.longest);
        }
    }

    pub fn until(&self) -> Option<Instant> {
        self.since.map(|since| since + self.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_further_job_in_a_row_runs_alone_for_half_the_time() {
        let mut isolation = Isolation::new(Duration::from_secs(30));
        let mut next = || {
            isolation.begin();
            let time = isolation.until().unwrap() - isolation.since.unwrap();
            isolation.end();
            time.as_millis()
        };
        assert_eq!([(); 6].map(|()| next()), [30_000, 15_000, 7_500, 3_750, 3_000, 3_000]);
    }

    #[test]
    fn other_jobs_end_the_row_if_they_were_fetched_after_it_began() {
        let mut isolation = Isolation::new(Duration::from_secs(30));
        let before = Instant::now();
        isolation.begin();
        isolation.end_row(before);
        assert!(isolation.until().is_some());
        isolation.end_row(Instant::now() + Duration::from_secs(1));
        assert!(isolation.until().is_none() && isolation.next == isolation.longest);
    }
}
