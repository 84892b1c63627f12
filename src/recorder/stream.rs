//! One stream: where its reader is, when it reads next, and what it may have missed.

use std::time::{Duration, Instant};

use redis::{Cmd, Value};

use super::event::Page;
use super::kept::Kept;
use super::sample::{in_sample, Pressure, Sample};
use crate::error::{Error, Result};
use crate::events::{entry_values, place, Entry, BEGINNING};
use crate::protocol::{reply, Keys};

/// How often a stream is read, and looked at while nothing comes, where there are many. Few are read oftener: a read
/// costs Redis so little that one may take place after this time for each of them.
const EVERY: Duration = Duration::from_millis(100);
const IDLE: Duration = Duration::from_millis(250);
const FOR_EACH: Duration = Duration::from_micros(500);
const FEW: Duration = Duration::from_millis(25);
/// One of which much is cut off is read oftener, but not oftener than this.
const OFTEN: Duration = Duration::from_millis(5);
/// Before what was read last is cut off, it is read about so many times.
const PARTS: f64 = 4.0;
/// A stream that keeps less than this is a short one.
const SHORT: Duration = Duration::from_secs(1);
/// A stream that cannot be read is tried again after this time.
const AFTER_REFUSAL: Duration = Duration::from_secs(5);
/// Redis serves nobody else during a read: it takes about so many bytes, and at most so many entries.
const PAGE_BYTES: usize = 1 << 20;
const PAGE: usize = 1_000;
const FIRST_PAGE: usize = 100;
/// Entries that are older came before the reader.
const OLD_MS: i64 = 5_000;
/// So many times as much is read at once if entries would be cut off unread otherwise.
const LARGER: usize = 5;

/// A time from which events may be missing, in ms: after the first and before the second.
pub type Gap = (i64, i64);

pub(super) struct Stream {
    pub keys: Keys,
    pub position: String,
    pub due: Instant,
    /// Everything that was written before this time, in ms, was seen; `None` if nothing was read yet.
    pub until: Option<i64>,
    sample: Sample,
    page: usize,
    /// Nothing came at the last read: then it is only asked whether something has come.
    is_idle: bool,
    /// It keeps a short time only.
    is_short: bool,
    /// What is unread is old, and nothing of it is cut off: it can be read at any time.
    pub can_wait: bool,
    kept: Kept,
    /// How many entries per second came at most, lately, and when it was read last.
    speed: f64,
    read: Instant,
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
    /// One of how many jobs is in the page.
    pub share: u32,
}

/// What a stream has to know about its turn to be read.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// Which connection it was.
    pub generation: Option<u64>,
    /// How many streams are read in all. On a cluster each may have a connection of its own.
    pub streams: usize,
    pub pressure: Pressure,
    pub now: Instant,
    /// The same by the wall clock, in ms.
    pub at: i64,
}

impl Turn {
    fn every(&self) -> Duration {
        self.apart(EVERY)
    }

    fn idle(&self) -> Duration {
        self.apart(IDLE)
    }

    fn apart(&self, most: Duration) -> Duration {
        FOR_EACH.saturating_mul(u32::try_from(self.streams).unwrap_or(u32::MAX)).clamp(FEW, most)
    }
}

impl Stream {
    pub fn new(keys: Keys, after: Option<String>, now: Instant) -> Self {
        Stream {
            keys,
            position: after.unwrap_or_else(|| BEGINNING.to_owned()),
            due: now,
            until: None,
            sample: Sample::new(now),
            page: FIRST_PAGE,
            is_idle: false,
            is_short: false,
            can_wait: false,
            kept: Kept::new(),
            speed: 0.0,
            read: now,
            compared: None,
            refused: None,
        }
    }

    /// Every how many-th job it keeps.
    pub fn share(&self) -> u32 {
        self.sample.share
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
    pub fn take(&mut self, replies: Vec<Result<Value>>, turn: Turn) -> Result<Option<Found>> {
        match self.heard(replies, turn) {
            Ok(found) => {
                self.refused = None;
                Ok(found)
            }
            Err(error @ Error::WrongShape(_)) => Err(error), // of the connection, not of the stream
            Err(error) => {
                self.due = turn.now + AFTER_REFUSAL;
                if self.refused.as_ref() == Some(&error) {
                    return Ok(None);
                }
                self.refused = Some(error.clone());
                Err(error)
            }
        }
    }

    /// What a read found; `None` if something has come and is read next.
    fn heard(&mut self, replies: Vec<Result<Value>>, turn: Turn) -> Result<Option<Found>> {
        if !self.only_asks(turn.generation) {
            return self.found(replies, turn).map(Some);
        }
        let reply = replies.into_iter().next().unwrap_or(Err(Error::Closed))?;
        let came = !entry_values(reply)?.is_empty();
        self.is_idle = !came;
        self.read = turn.now;
        let rest = if self.is_short { turn.every() } else { turn.idle() };
        self.due = turn.now + if came { Duration::ZERO } else { rest };
        Ok((!came).then(Found::default))
    }

    fn found(&mut self, replies: Vec<Result<Value>>, turn: Turn) -> Result<Found> {
        let mut replies = replies.into_iter();
        let mut next = || replies.next().unwrap_or(Err(Error::Closed));
        let (entries, oldest) = (next()?, only_id(next()?)?);
        let newest = if self.is_compared(turn.generation) { None } else { only_id(next()?)? };
        let share = self.sample.share;
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
        self.compared = turn.generation;
        let is_full = page.entries >= self.page;
        self.kept.note(page.entries, page.last.as_deref(), oldest.as_deref(), !is_full);
        self.pace(&page, is_full, turn);
        self.can_wait = is_full && !self.kept.is_cut && ms(&self.position) < turn.at - OLD_MS;
        if !self.can_wait {
            self.sample.adapt(page.events.len(), turn.pressure, turn.now);
        }
        Ok(Found { page, is_full, gap, since, share })
    }

    /// Sets when the next read is due, and how much it takes.
    fn pace(&mut self, page: &Page, is_full: bool, turn: Turn) {
        let usual = page.bytes.checked_div(page.entries).map_or(self.page, |each| PAGE_BYTES / each.max(1));
        let usual = usual.clamp(1, PAGE);
        let is_late = is_full && self.kept.is_nearly_lost();
        self.page = if is_late { (self.page * 2).clamp(usual, usual * LARGER) } else { usual };
        let passed = turn.now.saturating_duration_since(self.read).as_secs_f64();
        self.read = turn.now;
        self.speed = (page.entries as f64 / passed.max(0.001)).max(self.speed * 0.8);
        self.is_idle = page.entries == 0;
        let every = turn.every();
        let wait = if is_full {
            Duration::ZERO
        } else if self.kept.is_cut && page.entries > 0 {
            let keeps = self.kept.room() as f64 / self.speed;
            self.is_short = keeps < SHORT.as_secs_f64();
            Duration::from_secs_f64((keeps / PARTS).min(every.as_secs_f64())).max(OFTEN)
        } else {
            every
        };
        self.due = turn.now + wait;
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

    /// A turn on this connection, so long after now.
    fn turn(generation: u64, after: Duration) -> Turn {
        let pressure = Pressure::new(0.0, 1_000.0, 1);
        Turn { generation: Some(generation), streams: 1, pressure, now: Instant::now() + after, at: 2_000 }
    }

    fn take(stream: &mut Stream, replies: Vec<Value>, turn: Turn) -> Found {
        stream.take(replies.into_iter().map(Ok).collect(), turn).unwrap().unwrap()
    }

    fn take_now(stream: &mut Stream, replies: Vec<Value>, generation: u64) -> Found {
        take(stream, replies, turn(generation, Duration::ZERO))
    }

    /// The ids of entries that came one per ms.
    fn ids(from: usize, to: usize) -> Vec<String> {
        (from..=to).map(|ms| format!("{ms}-0")).collect()
    }

    /// Reads the entries that came from one ms to another, of a stream that keeps those from `oldest` on.
    fn take_each(stream: &mut Stream, from: usize, to: usize, oldest: usize, after: u64) -> Found {
        let (came, oldest) = (ids(from, to), format!("{oldest}-0"));
        let came: Vec<&str> = came.iter().map(String::as_str).collect();
        take(stream, vec![read(&came), entries(&[&oldest])], turn(1, Duration::from_millis(after)))
    }

    #[test]
    fn nothing_is_missing_while_the_last_entry_that_was_read_is_there() {
        let mut stream = at(Some("5-0"));
        assert_eq!(take_now(&mut stream, vec![read(&["6-0", "7-0"]), entries(&["5-0"])], 1).gap, None);
        assert_eq!(stream.position, "7-0");
    }

    #[test]
    fn events_may_be_missing_if_the_oldest_entry_is_newer_than_the_last_one_that_was_read() {
        let mut stream = at(Some("5-0"));
        assert_eq!(take_now(&mut stream, vec![read(&["9-0"]), entries(&["9-0"])], 1).gap, Some((5, 9)));
    }

    #[test]
    fn an_idle_stream_is_only_asked_whether_something_has_come_and_then_read() {
        let mut stream = at(Some("5-0"));
        assert_eq!(take_now(&mut stream, vec![read(&[]), Value::Nil], 1).gap, None);
        assert_eq!(stream.commands(Some(1)).len(), 1);
        let turn = turn(1, Duration::ZERO);
        assert!(stream.take(vec![Ok(read(&["12-0"]))], turn).unwrap().is_none());
        assert_eq!((stream.due, &stream.position[..], stream.commands(Some(1)).len()), (turn.now, "5-0", 2));
        assert_eq!(take_now(&mut stream, vec![read(&["12-0"]), entries(&["12-0"])], 1).gap, Some((5, 12)));
    }

    #[test]
    fn the_first_read_of_a_stream_has_no_gap_but_says_since_when_it_remembers() {
        let found = take_now(&mut at(None), vec![read(&["9-0"]), entries(&["9-0"])], 1);
        assert_eq!((found.gap, found.since), (None, Some(9)));
    }

    #[test]
    fn a_stream_that_ends_before_the_position_after_a_reconnect_is_read_from_its_end() {
        let mut stream = at(Some("50-0"));
        let found = take_now(&mut stream, vec![read(&[]), entries(&["10-0"]), entries(&["20-0"])], 2);
        assert_eq!((found.gap, &stream.position[..]), (Some((20, 50)), "20-0"));
    }

    #[test]
    fn an_error_that_lasts_is_reported_once() {
        let mut stream = at(None);
        let wrong = || Err(Error::Server { code: "WRONGTYPE".into(), message: "no stream".into() });
        let mut again = || stream.take(vec![wrong(), wrong()], turn(1, Duration::ZERO));
        assert!(again().is_err());
        assert!(again().unwrap().is_none());
    }

    #[test]
    fn a_stream_of_which_much_is_cut_off_is_read_oftener() {
        let mut stream = at(Some("0-1"));
        take_each(&mut stream, 1, 90, 1, 10);
        assert_eq!(stream.due, stream.read + FEW);
        take_each(&mut stream, 91, 180, 101, 20);
        assert_eq!(stream.due, stream.read + OFTEN);
    }

    #[test]
    fn larger_parts_are_read_only_while_entries_would_be_cut_off_unread() {
        let mut stream = at(Some("0-1"));
        take_each(&mut stream, 1, 90, 1, 10);
        stream.page = 500;
        take_each(&mut stream, 91, 590, 400, 20);
        assert_eq!(stream.page, 1_000);
        take_each(&mut stream, 591, 1_590, 1_500, 30);
        assert_eq!(stream.page, 2_000);
        take_each(&mut stream, 1_591, 1_600, 1_592, 40);
        assert_eq!(stream.page, PAGE);
    }

    #[test]
    fn old_entries_that_are_not_cut_off_can_wait_and_are_not_sampled() {
        let mut stream = at(Some("0-1"));
        let late = Turn { pressure: Pressure::new(0.9, 1.0, 1), at: 60_000, ..turn(1, Duration::ZERO) };
        let each = |stream: &mut Stream, from: usize, oldest: usize, turn: Turn| {
            stream.page = 10;
            let (came, oldest) = (ids(from, from + 9), format!("{oldest}-0"));
            let came: Vec<&str> = came.iter().map(String::as_str).collect();
            take(stream, vec![read(&came), entries(&[&oldest])], turn);
        };
        each(&mut stream, 1, 1, late);
        assert_eq!((stream.can_wait, stream.share()), (true, 1));
        each(&mut stream, 55_001, 1, late);
        assert!(!stream.can_wait, "these are new");
        let mut stream = at(Some("0-1"));
        each(&mut stream, 1, 1, late);
        each(&mut stream, 11, 5, late);
        assert!(!stream.can_wait && stream.share() > 1, "some are cut off");
    }

    #[test]
    fn many_streams_are_read_less_often_than_few() {
        let now = turn(1, Duration::ZERO);
        let many = Turn { streams: 10_000, ..now };
        assert_eq!((now.every(), now.idle(), many.every(), many.idle()), (FEW, FEW, EVERY, IDLE));
    }

    #[test]
    fn fewer_jobs_are_kept_of_what_comes_next_when_there_is_too_much() {
        let (mut stream, turn) = (at(Some("5-0")), turn(1, Duration::ZERO));
        let pressed = Turn { pressure: Pressure::new(0.7, 1.0, 1), ..turn };
        let found = take(&mut stream, vec![read(&["6-0", "7-0", "8-0", "9-0"]), entries(&["5-0"])], pressed);
        assert_eq!((found.share, stream.share()), (1, 2));
    }
}
