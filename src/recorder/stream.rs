//! One stream: where its reader is, when it reads next, and what it may have missed.

use std::time::{Duration, Instant};

use redis::{Cmd, Value};

use super::budget::{in_sample, Budget};
use super::event::Page;
use crate::error::{Error, Result};
use crate::events::{entry_values, place, Entry, BEGINNING};
use crate::protocol::{reply, Keys};

/// How often a stream is read. One that keeps only a short time is read oftener, so that nothing is cut off unread.
const EVERY: Duration = Duration::from_millis(100);
const OFTEN: Duration = Duration::from_millis(10);
/// How often one is looked at in which nothing comes: the first second of a busy queue still fits into its stream.
const IDLE: Duration = Duration::from_millis(250);
/// A stream that keeps less than this is a short one.
const SHORT: Duration = Duration::from_secs(1);
/// Of the time that a stream keeps, so much passes between reads.
const PART: u64 = 4;
/// A stream that cannot be read is tried again after this time.
const AFTER_REFUSAL: Duration = Duration::from_secs(5);
/// Redis serves nobody else during a read: it takes about so many bytes, and at most so many entries.
const PAGE_BYTES: usize = 1 << 20;
const PAGE: usize = 1_000;
const FIRST_PAGE: usize = 100;
/// At least every 1,024th job is kept.
const SMALLEST_SHARE: u32 = 1_024;
/// So long a sample stays before more jobs are kept.
const SAMPLE_STAYS: Duration = Duration::from_secs(10);

/// A time from which events may be missing, in ms: after the first and before the second.
pub type Gap = (i64, i64);

pub(super) struct Stream {
    pub keys: Keys,
    pub position: String,
    pub due: Instant,
    /// Everything that was written before this time, in ms, was seen; `None` if nothing was read yet.
    pub until: Option<i64>,
    /// Every how many-th job is kept.
    pub share: u32,
    shared: Instant,
    page: usize,
    /// Nothing came at the last read: then it is only asked whether something has come.
    is_idle: bool,
    /// It keeps a short time only.
    is_short: bool,
    /// The oldest entry at the last read.
    oldest: Option<String>,
    /// The generation of the connection on which the position was last compared with the end of the stream.
    compared: Option<u64>,
    refused: Option<Error>,
}

/// What one read of a stream found.
#[derive(Default)]
pub(super) struct Found {
    pub page: Page,
    /// Whether there may be more.
    pub is_full: bool,
    pub gap: Option<Gap>,
    /// When the oldest entry that was kept came, at the first read from the beginning.
    pub since: Option<i64>,
}

impl Stream {
    pub fn new(keys: Keys, after: Option<String>, now: Instant) -> Self {
        Stream {
            keys,
            position: after.unwrap_or_else(|| BEGINNING.to_owned()),
            due: now,
            until: None,
            share: 1,
            shared: now,
            page: FIRST_PAGE,
            is_idle: false,
            is_short: false,
            oldest: None,
            compared: None,
            refused: None,
        }
    }

    /// Whether the last read of it was refused.
    pub fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// The commands of a read: what came, what is the oldest entry behind that, and on a new connection the newest one.
    /// Only whether something came, if that is not likely.
    pub fn commands(&self, generation: Option<u64>) -> Vec<Cmd> {
        let key = self.keys.of("events");
        let (mut read, mut oldest) = (redis::cmd("XREAD"), redis::cmd("XRANGE"));
        let only_asks = self.only_asks(generation);
        let page = if only_asks { 1 } else { self.page };
        read.arg("COUNT").arg(page).arg("STREAMS").arg(&key).arg(&self.position);
        if only_asks {
            return vec![read];
        }
        oldest.arg(&key).arg("-").arg("+").arg("COUNT").arg(1);
        let mut commands = vec![read, oldest];
        if self.is_compared(generation) {
            return commands;
        }
        let mut newest = redis::cmd("XREVRANGE");
        newest.arg(&key).arg("+").arg("-").arg("COUNT").arg(1);
        commands.push(newest);
        commands
    }

    fn only_asks(&self, generation: Option<u64>) -> bool {
        self.is_idle && self.is_compared(generation)
    }

    fn is_compared(&self, generation: Option<u64>) -> bool {
        self.compared.is_some() && self.compared == generation
    }

    /// Takes the replies to [`Stream::commands`] and moves on. An error is returned once as long as it lasts.
    pub fn take(
        &mut self,
        replies: Vec<Result<Value>>,
        generation: Option<u64>,
        budget: &mut Budget,
        now: Instant,
    ) -> Result<Option<Found>> {
        match self.heard(replies, generation, budget, now) {
            Ok(found) => {
                self.refused = None;
                Ok(found)
            }
            Err(error @ Error::WrongShape(_)) => Err(error), // of the connection, not of the stream
            Err(error) => {
                self.due = now + AFTER_REFUSAL;
                if self.refused.as_ref() == Some(&error) {
                    return Ok(None);
                }
                self.refused = Some(error.clone());
                Err(error)
            }
        }
    }

    /// What a read found; `None` if something has come and is read next.
    fn heard(
        &mut self,
        replies: Vec<Result<Value>>,
        generation: Option<u64>,
        budget: &mut Budget,
        now: Instant,
    ) -> Result<Option<Found>> {
        if !self.only_asks(generation) {
            return self.found(replies, generation, budget, now).map(Some);
        }
        let reply = replies.into_iter().next().unwrap_or(Err(Error::Closed))?;
        let came = !entry_values(reply)?.is_empty();
        self.is_idle = !came;
        self.due = now + if came { Duration::ZERO } else { self.rest() };
        Ok((!came).then(Found::default))
    }

    /// How long a stream in which nothing comes is left alone.
    fn rest(&self) -> Duration {
        if self.is_short {
            EVERY
        } else {
            IDLE
        }
    }

    fn found(
        &mut self,
        replies: Vec<Result<Value>>,
        generation: Option<u64>,
        budget: &mut Budget,
        now: Instant,
    ) -> Result<Found> {
        let mut replies = replies.into_iter();
        let mut next = || replies.next().unwrap_or(Err(Error::Closed));
        let (entries, oldest) = (next()?, only_id(next()?)?);
        let newest = if self.is_compared(generation) { None } else { only_id(next()?)? };
        let share = self.share;
        let page = Page::of(entry_values(entries)?, |job| in_sample(job, share))?;
        let before = self.position.clone();
        let from_the_beginning = before == BEGINNING;
        let mut gap = None;
        if let Some(oldest) = oldest.as_ref().filter(|_| !from_the_beginning && page.entries > 0) {
            // What was the last entry is no longer there, so others behind it may have gone as well.
            gap = (place(oldest) > place(&before)).then(|| (ms(&before), ms(oldest).max(ms(&before))));
        }
        let since = oldest.as_deref().filter(|_| from_the_beginning && page.entries > 0).map(ms);
        if let Some(newest) = newest.filter(|newest| place(newest) < place(&before)) {
            // Another stream: the server has lost its data, or a replica that lagged became the primary.
            gap = Some((ms(&newest), ms(&before)));
            self.position = newest;
        }
        if let Some(last) = &page.last {
            self.position.clone_from(last);
        }
        self.compared = generation;
        let is_full = page.entries >= self.page;
        self.pace(&page, is_full, oldest, now);
        self.sample(&page, gap.is_some(), budget, now);
        Ok(Found { page, is_full, gap, since })
    }

    /// Sets when the next read is due, and how much it takes.
    fn pace(&mut self, page: &Page, is_full: bool, oldest: Option<String>, now: Instant) {
        if let Some(each) = page.bytes.checked_div(page.entries) {
            self.page = (PAGE_BYTES / each.max(1)).clamp(1, PAGE);
        }
        let is_cut = self.oldest.is_some() && self.oldest != oldest;
        self.is_idle = page.entries == 0;
        let wait = match &oldest {
            _ if is_full => Duration::ZERO,
            Some(oldest) if is_cut && page.entries > 0 => {
                let keeps = ms(&self.position).saturating_sub(ms(oldest)).max(0).unsigned_abs();
                self.is_short = keeps < SHORT.as_millis() as u64;
                Duration::from_millis(keeps / PART).clamp(OFTEN, EVERY)
            }
            _ => EVERY,
        };
        self.oldest = oldest;
        self.due = now + wait;
    }

    /// Keeps fewer jobs if there is more than can be kept, or read, and later more again.
    fn sample(&mut self, page: &Page, missed: bool, budget: &mut Budget, now: Instant) {
        let lags = missed && page.entries >= PAGE;
        if !budget.spend(page.events.len(), now) || lags {
            self.share = (self.share * 2).min(SMALLEST_SHARE);
            self.shared = now;
        } else if self.share > 1 && now - self.shared > SAMPLE_STAYS && budget.is_nearly_full(now) {
            self.share /= 2;
            self.shared = now;
        }
    }
}

/// The id of the only entry, if there is one.
fn only_id(value: Value) -> Result<Option<String>> {
    Ok(reply::array(value)?.pop().map(Entry::from_value).transpose()?.map(|entry| entry.id))
}

fn ms(id: &str) -> i64 {
    i64::try_from(place(id).0).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(ids: &[&str]) -> Value {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let fields = || ["event", "active", "jobId", "1", "prev", "waiting"].map(text).to_vec();
        Value::Array(ids.iter().map(|id| Value::Array(vec![text(id), Value::Array(fields())])).collect())
    }

    fn read(ids: &[&str]) -> Value {
        if ids.is_empty() {
            return Value::Nil;
        }
        Value::Array(vec![Value::Array(vec![Value::BulkString(b"key".to_vec()), entries(ids)])])
    }

    /// A stream that is at this position on its first connection.
    fn at(position: Option<&str>) -> Stream {
        let mut stream = Stream::new(Keys::new("bull", "mail").unwrap(), position.map(str::to_owned), Instant::now());
        stream.compared = Some(1);
        stream
    }

    fn take(stream: &mut Stream, replies: Vec<Value>, generation: u64) -> Found {
        let (mut budget, replies) = (Budget::new(1_000), replies.into_iter().map(Ok).collect());
        stream.take(replies, Some(generation), &mut budget, Instant::now()).unwrap().unwrap()
    }

    #[test]
    fn nothing_is_missing_while_the_last_entry_that_was_read_is_there() {
        let mut stream = at(Some("5-0"));
        assert_eq!(take(&mut stream, vec![read(&["6-0", "7-0"]), entries(&["5-0"])], 1).gap, None);
        assert_eq!(stream.position, "7-0");
    }

    #[test]
    fn events_may_be_missing_if_the_oldest_entry_is_newer_than_the_last_one_that_was_read() {
        let mut stream = at(Some("5-0"));
        assert_eq!(take(&mut stream, vec![read(&["9-0"]), entries(&["9-0"])], 1).gap, Some((5, 9)));
    }

    #[test]
    fn an_idle_stream_is_only_asked_whether_something_has_come_and_then_read() {
        let (mut stream, mut budget) = (at(Some("5-0")), Budget::new(1_000));
        assert_eq!(take(&mut stream, vec![read(&[]), Value::Nil], 1).gap, None);
        assert_eq!(stream.commands(Some(1)).len(), 1);
        let now = Instant::now();
        assert!(stream.take(vec![Ok(read(&["12-0"]))], Some(1), &mut budget, now).unwrap().is_none());
        assert_eq!((stream.due, &stream.position[..], stream.commands(Some(1)).len()), (now, "5-0", 2));
        assert_eq!(take(&mut stream, vec![read(&["12-0"]), entries(&["12-0"])], 1).gap, Some((5, 12)));
    }

    #[test]
    fn the_first_read_of_a_stream_has_no_gap_but_says_since_when_it_remembers() {
        let found = take(&mut at(None), vec![read(&["9-0"]), entries(&["9-0"])], 1);
        assert_eq!((found.gap, found.since), (None, Some(9)));
    }

    #[test]
    fn a_stream_that_ends_before_the_position_after_a_reconnect_is_read_from_its_end() {
        let mut stream = at(Some("50-0"));
        let found = take(&mut stream, vec![read(&[]), entries(&["10-0"]), entries(&["20-0"])], 2);
        assert_eq!((found.gap, &stream.position[..]), (Some((20, 50)), "20-0"));
    }

    #[test]
    fn an_error_that_lasts_is_reported_once() {
        let (mut stream, mut budget) = (at(None), Budget::new(1_000));
        let wrong = || Err(Error::Server { code: "WRONGTYPE".into(), message: "no stream".into() });
        let mut again = || stream.take(vec![wrong(), wrong()], Some(1), &mut budget, Instant::now());
        assert!(again().is_err());
        assert!(again().unwrap().is_none());
    }

    #[test]
    fn a_stream_that_keeps_a_short_time_is_read_oftener() {
        let mut stream = at(Some("1000-0"));
        let now = Instant::now();
        take(&mut stream, vec![read(&["1010-0"]), entries(&["990-0"])], 1);
        assert!(stream.due >= now + EVERY);
        take(&mut stream, vec![read(&["1100-0"]), entries(&["1009-0"])], 1);
        assert!(stream.due < now + EVERY);
    }

    #[test]
    fn fewer_jobs_are_kept_when_more_events_come_than_can_be_written() {
        let (mut stream, mut budget) = (at(Some("5-0")), Budget::new(1));
        let replies = vec![Ok(read(&["6-0", "7-0", "8-0", "9-0"])), Ok(entries(&["5-0"]))];
        stream.take(replies, Some(1), &mut budget, Instant::now()).unwrap();
        assert_eq!(stream.share, 2);
    }
}
