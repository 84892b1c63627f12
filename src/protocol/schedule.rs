//! The next job of a scheduler: whether and when there is one, and its options.

use serde_json::{Map, Value};

use super::cron::Cron;
use super::due;
use crate::error::{Error, Result};

/// The members of `repeat` in a scheduler job's options that the worker needs. Times in ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeat {
    pub pattern: Option<String>,
    pub every: Option<i64>,
    pub tz: Option<String>,
    /// `dst: "bullmq"`: days without midnight are skipped, as by Node.
    pub skips_lost_midnights: bool,
    /// How many jobs the scheduler has added, with this one.
    pub count: i64,
    pub limit: Option<i64>,
    pub start_date: Option<i64>,
    pub end_date: Option<i64>,
}

/// The iteration that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    pub count: i64,
    /// When the cron pattern fires; `None` for `every`, whose slot the script computes.
    pub cron_next: Option<i64>,
}

impl Repeat {
    #[must_use]
    pub fn read(repeat: &Map<String, Value>) -> Self {
        let text = |name: &str| repeat.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| repeat.get(name).and_then(Value::as_f64).map(|number| number as i64);
        let utc = repeat.get("utc").and_then(Value::as_bool) == Some(true);
        Repeat {
            pattern: text("pattern"),
            every: number("every"),
            tz: if utc { Some("UTC".into()) } else { text("tz") },
            skips_lost_midnights: repeat.get("dst").and_then(Value::as_str) == Some("bullmq"),
            count: number("count").unwrap_or(0),
            limit: number("limit"),
            start_date: number("startDate"),
            end_date: number("endDate"),
        }
    }

    /// Checks that the pattern and the time zone can be read, that the pattern fires, and that no job would be due too
    /// late.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] names the option.
    pub fn check(&self, now: i64) -> Result<()> {
        if let Some(tz) = &self.tz {
            super::cron::check_zone(tz)?;
        }
        let start = self.start_date.unwrap_or(now);
        due::check("repeat.start_date", start)?;
        due::check("repeat.every", now.saturating_add(self.every.unwrap_or(0)))?;
        let Some(pattern) = &self.pattern else { return Ok(()) };
        if !pattern.starts_with('@') && pattern.split_whitespace().count() < 5 {
            return Err(Error::InvalidOption(format!(
                "pattern {pattern:?} is not a cron pattern: it needs five fields, or six with seconds in front"
            )));
        }
        match self.cron(pattern)?.next_after(now.max(start)) {
            Some(firing) => due::check("repeat.pattern", firing),
            None => Err(Error::InvalidOption(format!("pattern {pattern:?} never fires: no month has that day"))),
        }
    }

    fn cron(&self, pattern: &str) -> Result<Cron> {
        Ok(Cron::parse(pattern, self.tz.as_deref())?.skipping_lost_midnights(self.skips_lost_midnights))
    }

    /// The iteration after this one, or `None` when the schedule is over. `previous` is the time for which this job was
    /// added.
    ///
    /// # Errors
    /// [`crate::error::Error::InvalidOption`] when the pattern or the time zone cannot be read.
    pub fn next(&self, now: i64, previous: Option<i64>) -> Result<Option<Iteration>> {
        let count = self.count.saturating_add(1);
        // After the latest moment no job can be due, so the schedule is over.
        let end = self.end_date.unwrap_or(i64::MAX).min(due::LATEST);
        let too_late = now.saturating_add(self.every.unwrap_or(0)) > due::LATEST;
        if self.limit.is_some_and(|limit| count > limit) || now > end || too_late {
            return Ok(None);
        }
        let Some(pattern) = &self.pattern else {
            return Ok(Some(Iteration { count, cron_next: None }));
        };
        let after = now.max(previous.unwrap_or(now)).max(self.start_date.unwrap_or(now));
        let firing = self.cron(pattern)?.next_after(after);
        let firing = firing.filter(|&firing| firing <= end);
        Ok(firing.map(|firing| Iteration { count, cron_next: Some(firing) }))
    }
}

/// The options of a scheduler's next job, made from a template or from the job before; a script adds the members that
/// depend on the slot.
#[derive(Clone, Debug, PartialEq)]
pub struct IterationOptions {
    pub json: String,
    pub priority: i64,
    pub lifo: bool,
    pub deduplication_id: Option<String>,
}

impl IterationOptions {
    #[must_use]
    pub fn new(
        mut opts: Map<String, Value>,
        mut repeat: Map<String, Value>,
        scheduler_id: &str,
        now: i64,
        count: i64,
    ) -> Self {
        for slot_member in ["jobId", "delay", "prevMillis"] {
            opts.remove(slot_member);
        }
        repeat.insert("count".to_owned(), count.into());
        opts.insert("repeat".to_owned(), Value::Object(repeat));
        opts.insert("repeatJobKey".to_owned(), scheduler_id.into());
        opts.insert("timestamp".to_owned(), now.into());
        let deduplication = opts.get("de").and_then(|rule| rule.get("id"));
        IterationOptions {
            priority: opts.get("priority").and_then(Value::as_f64).unwrap_or(0.0) as i64,
            lifo: opts.get("lifo").and_then(Value::as_bool).unwrap_or(false),
            deduplication_id: deduplication.and_then(Value::as_str).map(str::to_owned),
            json: Value::Object(opts).to_string(),
        }
    }
}
