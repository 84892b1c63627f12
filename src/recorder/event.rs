//! Events as a history needs them: what happened to which job and when, a short text, and no payload.

use std::collections::BTreeMap;

use redis::Value;

use crate::error::Result;
use crate::events::place;
use crate::protocol::reply;

/// A longer text of an event is cut off: the reason of a failure may have a megabyte.
const LONGEST: usize = 2_000;
/// So much text takes as much memory as an event without.
const TEXT: usize = 100;
const MINUTE_MS: i64 = 60_000;

/// What happens to a job. Other events say nothing about its attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Added,
    Waiting,
    Delayed,
    WaitingChildren,
    Active,
    Completed,
    Failed,
    Stalled,
    Removed,
}

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::Added,
        Kind::Waiting,
        Kind::Delayed,
        Kind::WaitingChildren,
        Kind::Active,
        Kind::Completed,
        Kind::Failed,
        Kind::Stalled,
        Kind::Removed,
    ];

    /// Its name in the stream.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Added => "added",
            Kind::Waiting => "waiting",
            Kind::Delayed => "delayed",
            Kind::WaitingChildren => "waiting-children",
            Kind::Active => "active",
            Kind::Completed => "completed",
            Kind::Failed => "failed",
            Kind::Stalled => "stalled",
            Kind::Removed => "removed",
        }
    }

    fn of(name: &[u8]) -> Option<Self> {
        Kind::ALL.into_iter().find(|kind| kind.name().as_bytes() == name)
    }

    /// The field that a history keeps, besides the job's id.
    fn kept(self) -> &'static [u8] {
        match self {
            Kind::Added => b"name",
            Kind::Waiting | Kind::Removed => b"prev",
            Kind::Delayed => b"delay",
            Kind::Failed => b"failedReason",
            Kind::WaitingChildren | Kind::Active | Kind::Completed | Kind::Stalled => b"",
        }
    }
}

/// One event of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: Kind,
    pub job: String,
    /// When Redis wrote it.
    pub at: i64,
    /// The name of an added job, the state before, when a delayed job is due, or why it failed.
    pub text: Option<String>,
}

impl Event {
    /// How much of a memory it takes: 1 without a long text.
    pub(super) fn weight(&self) -> usize {
        1 + self.text.as_ref().map_or(0, |text| text.len() / TEXT)
    }
}

/// How many events of each kind there were in a minute, in the order of [`Kind::ALL`].
pub type Minute = [u64; Kind::ALL.len()];

/// Entries of a stream.
#[derive(Default)]
pub struct Page {
    pub events: Vec<Event>,
    /// By the minutes since 1970; also of jobs that are in no sample.
    pub minutes: BTreeMap<i64, Minute>,
    /// How many entries there were, and the id of the last one.
    pub entries: usize,
    pub last: Option<String>,
    /// About how many bytes they had.
    pub bytes: usize,
}

impl Page {
    /// Takes the entries of a stream apart, and keeps the events of those jobs that `wants` names.
    ///
    /// # Errors
    /// [`crate::error::Error::WrongShape`]: these are no entries.
    pub fn of(entries: Vec<Value>, wants: impl Fn(&str) -> bool) -> Result<Self> {
        let (mut events, mut minutes, mut bytes, mut last) = (Vec::new(), BTreeMap::new(), 0, None);
        let count = entries.len();
        for entry in entries {
            let mut parts = reply::exactly(2, entry)?.into_iter();
            let (id, fields) = (parts.next().unwrap_or(Value::Nil), parts.next().unwrap_or(Value::Nil));
            let id = reply::text(id)?;
            let at = i64::try_from(place(&id).0).unwrap_or(i64::MAX);
            if let Some(event) = event_of(at, reply::array(fields)?, &mut bytes)? {
                let minute: &mut Minute = minutes.entry(at / MINUTE_MS).or_default();
                minute[event.kind as usize] += 1;
                if wants(&event.job) {
                    events.push(event);
                }
            }
            last = Some(id);
        }
        Ok(Page { events, minutes, entries: count, last, bytes })
    }
}

/// The event of an entry with these fields; none if it is about no job, or says nothing about its attempts.
fn event_of(at: i64, fields: Vec<Value>, bytes: &mut usize) -> Result<Option<Event>> {
    let (mut kind, mut job, mut text) = (None, None, None);
    let mut fields = fields.into_iter();
    while let (Some(name), Some(value)) = (fields.next(), fields.next()) {
        let (name, value) = (reply::bytes(name)?, reply::bytes(value)?);
        *bytes += name.len() + value.len();
        match (&name[..], kind) {
            (b"event", _) => match Kind::of(&value) {
                Some(known) => kind = Some(known),
                None => continue, // the other fields are only measured
            },
            (b"jobId", _) => job = Some(String::from_utf8_lossy(&value).into_owned()),
            (name, Some(known)) if name == Kind::kept(known) => text = Some(shortened(&value)),
            _ => {}
        }
    }
    Ok(kind.zip(job).map(|(kind, job)| Event { kind, job, at, text }))
}

fn shortened(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(&value[..value.len().min(LONGEST + 4)]);
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, fields: &[&str]) -> Value {
        let text = |text: &&str| Value::BulkString(text.as_bytes().to_vec());
        Value::Array(vec![text(&id), Value::Array(fields.iter().map(text).collect())])
    }

    #[test]
    fn payloads_are_dropped_and_other_events_are_not_counted() {
        let long = "x".repeat(5_000);
        let entries = vec![
            entry("60000-0", &["event", "added", "jobId", "1", "name", "welcome"]),
            entry("60001-0", &["event", "progress", "jobId", "1", "data", "50"]),
            entry("60002-0", &["event", "completed", "jobId", "1", "returnvalue", "\"secret\"", "prev", "active"]),
            entry("120000-0", &["event", "failed", "jobId", "2", "failedReason", &long, "prev", "active"]),
            entry("120000-1", &["event", "drained"]),
            entry("120000-2", &["event", "theirs", "jobId", "3", "name", "x"]),
        ];
        let page = Page::of(entries, |_| true).unwrap();
        let seen: Vec<_> =
            page.events.iter().map(|event| (event.kind, &event.job[..], event.at, event.text.clone())).collect();
        assert_eq!(
            seen,
            [
                (Kind::Added, "1", 60_000, Some("welcome".into())),
                (Kind::Completed, "1", 60_002, None),
                (Kind::Failed, "2", 120_000, Some("x".repeat(LONGEST))),
            ]
        );
        assert_eq!(page.minutes[&1][Kind::Added as usize], 1);
        assert_eq!(page.minutes[&2].iter().sum::<u64>(), 1);
        assert_eq!((page.entries, page.last.as_deref()), (6, Some("120000-2")));
    }

    #[test]
    fn events_of_jobs_outside_the_sample_are_counted_all_the_same() {
        let entries = vec![entry("1-0", &["event", "active", "jobId", "1", "prev", "waiting"])];
        let page = Page::of(entries, |_| false).unwrap();
        assert_eq!((page.events.len(), page.minutes[&0][Kind::Active as usize]), (0, 1));
    }

    #[test]
    fn what_is_no_entry_is_an_error() {
        assert!(Page::of(vec![Value::Int(1)], |_| true).is_err());
    }
}
