//! When a cron pattern fires next, as cron-parser 4.9 computes it.
//!
//! The `croner` crate reads the pattern and knows calendars; the walk over the clock is ours, because cron-parser treats the
//! hours that a time zone skips or repeats in its own way.

use chrono::{DateTime, Datelike, Days, Local, NaiveDate, Offset, TimeZone, Utc};
use chrono_tz::Tz;
use croner::parser::{CronParser, Seconds, Year};

use crate::error::{Error, Result};

/// What missing fields stand for: fields are filled up from the left.
const DEFAULTS: [&str; 6] = ["0", "*", "*", "*", "*", "*"];
/// The last value of each field, for `n/step` = `n-last/step`.
const LAST: [&str; 6] = ["59", "59", "23", "31", "12", "7"];
/// Fields of days that restrict nothing; cron-parser does not count `0-6` among them.
const FULL: [(usize, &str); 5] = [(3, "1-31"), (3, "*/1"), (5, "0-7"), (5, "1-7"), (5, "*/1")];
const NAMES: [(&str, &str); 5] = [
    ("@yearly", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];
/// Days to look ahead: 29 February can be eight years away, on a given weekday forty.
const HORIZON: u64 = 41 * 366;

/// A cron pattern in its time zone.
#[derive(Clone, Debug)]
pub struct Cron {
    pattern: croner::Cron,
    zone: Zone,
    /// `#n` of the day of the week: only the month's n-th seven days fire, whichever field matched them.
    nth: Option<u32>,
    /// All hours fire: then a skipped hour is skipped and a repeated one fires twice.
    every_hour: bool,
}

#[derive(Clone, Copy, Debug)]
enum Zone {
    Local,
    Named(Tz),
}

impl Cron {
    /// Reads a pattern of 5 or 6 fields (seconds first) or a name such as `@daily`. `tz` `None` = the process' time zone.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a pattern or a time zone that cron-parser would not take either.
    pub fn parse(pattern: &str, tz: Option<&str>) -> Result<Self> {
        let invalid =
            |reason: &str| Error::InvalidOption(format!("pattern {pattern:?} is not a cron pattern: {reason}"));
        let zone = tz.map_or(Ok(Zone::Local), |name| check_zone(name).map(Zone::Named))?;
        let mut fields =
            fields(pattern).ok_or_else(|| invalid("it has more than six fields or an unknown character"))?;
        let nth = take_nth(&mut fields[5]).ok_or_else(|| invalid("# takes one weekday and a number from 1 to 5"))?;
        let parser = CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).build();
        let pattern = parser.parse(&fields.join(" ")).map_err(|error| invalid(&error.to_string()))?;
        let every_hour = (0..24).all(|hour| pattern.pattern.hour_match(hour).unwrap_or(false));
        Ok(Cron { pattern, zone, nth, every_hour })
    }

    /// The first firing strictly after `after`, both in ms since the epoch; `None` when there is none within forty years.
    #[must_use]
    pub fn next_after(&self, after: i64) -> Option<i64> {
        match self.zone {
            Zone::Local => self.walk(&Local, after),
            Zone::Named(zone) => self.walk(&zone, after),
        }
    }

    fn walk<Z: TimeZone>(&self, zone: &Z, after: i64) -> Option<i64> {
        let now = Utc.timestamp_millis_opt(after).single()?;
        let offset = zone.offset_from_utc_datetime(&now.naive_utc()).fix();
        let today = now.with_timezone(&offset).date_naive();
        (0..HORIZON).find_map(|ahead| {
            let date = today.checked_add_days(Days::new(ahead))?;
            if self.fires_on(date) {
                self.first_of_day(zone, date, after)
            } else {
                None
            }
        })
    }

    fn fires_on(&self, date: NaiveDate) -> bool {
        let pattern = &self.pattern.pattern;
        pattern.month_match(date.month()).unwrap_or(false)
            && pattern.day_match(date.year(), date.month(), date.day()).unwrap_or(false)
            && self.nth.is_none_or(|nth| date.day().div_ceil(7) == nth)
    }

    fn first_of_day<Z: TimeZone>(&self, zone: &Z, date: NaiveDate, after: i64) -> Option<i64> {
        let hours = (0..24).filter(|&hour| self.pattern.pattern.hour_match(hour).unwrap_or(false));
        // A repeated hour fires in its second pass only if every hour does.
        let passes: &[Pass] = if self.every_hour { &[Pass::First, Pass::Second] } else { &[Pass::First] };
        hours.flat_map(|hour| passes.iter().map(move |&pass| (hour, pass))).find_map(|(hour, pass)| {
            // An hour that the zone skips: whoever asks for it by name gets the next one instead.
            let skipped = !self.every_hour
                && [0, 59].iter().all(|&minute| instant(zone, date, (hour, minute, 59), pass).is_none());
            let hour = if skipped { hour + 1 } else { hour };
            self.first_of_hour(after, |minute, second| instant(zone, date, (hour, minute, second), pass))
        })
    }

    fn first_of_hour(&self, after: i64, instant: impl Fn(u32, u32) -> Option<i64>) -> Option<i64> {
        let pattern = &self.pattern.pattern;
        let minutes = (0..60).filter(|&minute| pattern.minute_match(minute).unwrap_or(false));
        let ahead = minutes.filter(|&minute| instant(minute, 59).is_some_and(|end| end > after));
        ahead.into_iter().find_map(|minute| {
            let seconds = (0..60).filter(|&second| pattern.second_match(second).unwrap_or(false));
            seconds.filter_map(|second| instant(minute, second)).find(|&firing| firing > after)
        })
    }
}

/// Reads the name of a time zone.
///
/// # Errors
/// [`Error::InvalidOption`] when there is none of this name.
pub fn check_zone(name: &str) -> Result<Tz> {
    let known = name.parse();
    known.map_err(|_| {
        Error::InvalidOption(format!("tz {name:?} is not the name of a time zone such as \"Europe/Paris\""))
    })
}

/// Which of two instants with the same local time is meant.
#[derive(Clone, Copy)]
enum Pass {
    First,
    Second,
}

/// The instant of a local time; `None` when the clock jumps over it.
fn instant<Z: TimeZone>(zone: &Z, date: NaiveDate, (hour, minute, second): (u32, u32, u32), pass: Pass) -> Option<i64> {
    let local = zone.from_local_datetime(&date.and_hms_opt(hour, minute, second)?);
    let time: Option<DateTime<Z>> = match pass {
        Pass::First => local.earliest(),
        Pass::Second => local.latest(),
    };
    time.map(|time| time.timestamp_millis())
}

/// The six fields of a pattern in the form that `croner` reads alike; `None` when cron-parser would refuse it.
fn fields(pattern: &str) -> Option<Vec<String>> {
    let named = NAMES.iter().find(|(name, _)| *name == pattern.trim());
    let given: Vec<&str> = named.map_or(pattern, |(_, meaning)| meaning).split_whitespace().collect();
    let missing = DEFAULTS.len().checked_sub(given.len())?;
    let all = DEFAULTS[..missing].iter().copied().chain(given);
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"*,-/#".contains(&byte);
    all.enumerate()
        .map(|(position, field)| {
            let foreign = position == 3 && field.contains(['W', 'w']);
            // A full range of days is no restriction, so it must not be combined with the other field of days.
            let full = FULL.contains(&(position, field));
            let field = if full { "*" } else { field };
            (field.bytes().all(known) && !foreign).then(|| open_steps(field, position))
        })
        .collect()
}

/// Cuts `#n` off the day of the week; `None` when it is wrong.
fn take_nth(field: &mut String) -> Option<Option<u32>> {
    let Some((day, nth)) = field.split_once('#') else {
        return Some(None);
    };
    let nth = nth.parse().ok().filter(|nth| (1..=5).contains(nth))?;
    if day.contains([',', '/', '-']) {
        return None;
    }
    *field = day.to_owned();
    Some(Some(nth))
}

/// Writes `n/step` as `n-last/step`; a range of weekdays that ends in 7 has Sunday in it, whatever its step.
fn open_steps(field: &str, position: usize) -> String {
    let open = |part: &str| {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let single = !range.is_empty() && range.bytes().all(|byte| byte.is_ascii_digit());
        let range = if single && step.is_some() { format!("{range}-{}", LAST[position]) } else { range.to_owned() };
        let sunday = if position == 5 && range.ends_with("-7") { ",0" } else { "" };
        let step = step.map_or(String::new(), |step| format!("/{step}"));
        format!("{range}{step}{sunday}")
    };
    field.split(',').map(open).collect::<Vec<_>>().join(",")
}
