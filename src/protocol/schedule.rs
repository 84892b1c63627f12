//! Whether and when a scheduler's job is followed by another one.

use serde_json::{Map, Value};

use super::cron::Cron;
use crate::error::Result;

/// The `repeat` member of a scheduler job's options, as far as the worker needs it. Times in ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeat {
    pub pattern: Option<String>,
    pub every: Option<i64>,
    pub tz: Option<String>,
    /// How many jobs the scheduler has made, this one included.
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
            count: number("count").unwrap_or(0),
            limit: number("limit"),
            start_date: number("startDate"),
            end_date: number("endDate"),
        }
    }

    /// The iteration after this one, or `None` when the schedule is over. `previous` is the time this job was made for.
    ///
    /// # Errors
    /// [`crate::error::Error::InvalidOption`] when the pattern or the time zone cannot be read.
    pub fn next(&self, now: i64, previous: Option<i64>) -> Result<Option<Iteration>> {
        let count = self.count + 1;
        let over = self.limit.is_some_and(|limit| count > limit) || self.end_date.is_some_and(|end| now > end);
        if over {
            return Ok(None);
        }
        let Some(pattern) = &self.pattern else {
            return Ok(Some(Iteration { count, cron_next: None }));
        };
        let after = now.max(previous.unwrap_or(now)).max(self.start_date.unwrap_or(now));
        let firing = Cron::parse(pattern, self.tz.as_deref())?.next_after(after);
        let firing = firing.filter(|&firing| self.end_date.is_none_or(|end| firing <= end));
        Ok(firing.map(|firing| Iteration { count, cron_next: Some(firing) }))
    }
}
