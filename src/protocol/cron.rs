//! When a cron pattern fires next, as cron-parser 4.9 computes it.

use chrono::{DateTime, Datelike, Days, Local, NaiveDate, Offset, TimeZone, Utc};
use chrono_tz::Tz;

use super::cron_field::{Field, DAYS, HOURS, MINUTES, MONTHS, SECONDS, WEEKDAYS};
use crate::error::{Error, Result};

/// The values of missing fields: given fields are the last ones.
const DEFAULTS: [&str; 6] = ["0", "*", "*", "*", "*", "*"];
const NAMES: [(&str, &str); 5] = [
    ("@yearly", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];
/// The most days that a month can have.
const LONGEST: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/// The count of a field with all weekdays: both 0 and 7 count.
const ALL_WEEKDAYS: u32 = 8;
/// Days to look ahead: 29 February can be eight years away, and forty on a given weekday.
const HORIZON: u64 = 41 * 366;

/// A cron pattern in its time zone.
#[derive(Clone, Debug)]
pub struct Cron {
    second: Field,
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    weekday: Field,
    zone: Zone,
    /// `#n` of the weekday: only the n-th seven days of the month fire, whichever field matched.
    nth: Option<u32>,
    /// All hours fire: then an hour that the clock skips does not fire, and one that it repeats fires twice.
    every_hour: bool,
    /// A day without midnight does not fire at its first instant, as in cron-parser.
    skips_lost_midnights: bool,
}

#[derive(Clone, Copy, Debug)]
enum Zone {
    Local,
    Named(Tz),
}

impl Cron {
    /// Reads a pattern of 5 or 6 fields (seconds first) or a name such as `@daily`. `tz` `None` = the process' time
    /// zone.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a pattern or a time zone that cron-parser would not take either.
    pub fn parse(pattern: &str, tz: Option<&str>) -> Result<Self> {
        let zone = tz.map_or(Ok(Zone::Local), |name| check_zone(name).map(Zone::Named))?;
        Self::read(pattern, zone)
            .map_err(|reason| Error::InvalidOption(format!("pattern {pattern:?} is not a cron pattern: {reason}")))
    }

    fn read(pattern: &str, zone: Zone) -> std::result::Result<Self, String> {
        let named = NAMES.iter().find(|(name, _)| *name == pattern.trim());
        let given: Vec<&str> = named.map_or(pattern, |(_, meaning)| meaning).split_whitespace().collect();
        let missing = DEFAULTS.len().checked_sub(given.len()).ok_or("it has more than six fields")?;
        let fields: Vec<&str> = DEFAULTS[..missing].iter().copied().chain(given).collect();
        let (weekday, nth) = take_nth(fields[5])?;
        let hour = Field::parse(fields[2], &HOURS)?;
        let cron = Cron {
            second: Field::parse(fields[0], &SECONDS)?,
            minute: Field::parse(fields[1], &MINUTES)?,
            every_hour: (0..24).all(|value| hour.has(value)),
            hour,
            day: Field::parse(fields[3], &DAYS)?,
            month: Field::parse(fields[4], &MONTHS)?,
            weekday: Field::parse(weekday, &WEEKDAYS)?,
            zone,
            nth,
            skips_lost_midnights: false,
        };
        match cron.month.only() {
            Some(month) if cron.day.least().is_some_and(|day| day > longest(month)) => {
                Err("that month has no such day".to_owned())
            }
            _ => Ok(cron),
        }
    }

    /// Does as cron-parser does on days that have no midnight, since the clock jumps over it: what should fire in that
    /// hour is skipped, not shifted.
    #[must_use]
    pub fn skipping_lost_midnights(self, skips: bool) -> Self {
        Cron { skips_lost_midnights: skips, ..self }
    }

    /// The first firing strictly after `after`, both in ms since the epoch; `None` when there is none within forty
    /// years.
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
        let (day, month) = (date.day(), date.month());
        if !self.month.has(month) || self.nth.is_some_and(|nth| day.div_ceil(7) != nth) {
            return false;
        }
        let left = u32::from(date.num_days_in_month()) - day;
        let by_day = self.day.has(day) || (self.day.has_last() && left == 0);
        let weekday = date.weekday().num_days_from_sunday();
        let by_weekday = self.weekday.has(weekday) || (left < 7 && self.weekday.has_last_of(weekday));
        // cron-parser decides by the number of days whether a field restricts them.
        match (self.day.count() >= longest(month), self.weekday.count() == ALL_WEEKDAYS) {
            (_, true) => by_day,
            (true, false) => by_weekday,
            (false, false) => by_day || by_weekday,
        }
    }

    fn first_of_day<Z: TimeZone>(&self, zone: &Z, date: NaiveDate, after: i64) -> Option<i64> {
        let hours = (0..24).filter(|&hour| self.hour.has(hour));
        // A repeated hour fires in its second pass only if every hour does.
        let passes: &[Pass] = if self.every_hour { &[Pass::First, Pass::Second] } else { &[Pass::First] };
        hours.flat_map(|hour| passes.iter().map(move |&pass| (hour, pass))).find_map(|(hour, pass)| {
            // An hour that the zone skips: the next hour fires instead.
            let skipped = !(self.every_hour || self.skips_lost_midnights && hour == 0)
                && [0, 59].iter().all(|&minute| instant(zone, date, (hour, minute, 59), pass).is_none());
            let hour = if skipped { hour + 1 } else { hour };
            self.first_of_hour(after, |minute, second| instant(zone, date, (hour, minute, second), pass))
        })
    }

    fn first_of_hour(&self, after: i64, instant: impl Fn(u32, u32) -> Option<i64>) -> Option<i64> {
        let minutes = (0..60).filter(|&minute| self.minute.has(minute));
        let ahead = minutes.filter(|&minute| instant(minute, 59).is_some_and(|end| end > after));
        ahead.into_iter().find_map(|minute| {
            let seconds = (0..60).filter(|&second| self.second.has(second));
            seconds.filter_map(|second| instant(minute, second)).find(|&firing| firing > after)
        })
    }
}

/// Reads the name of a time zone.
///
/// # Errors
/// [`Error::InvalidOption`] when there is no such zone.
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

fn longest(month: u32) -> u32 {
    LONGEST[month as usize - 1]
}

/// Cuts `#n` off the day of the week.
fn take_nth(field: &str) -> std::result::Result<(&str, Option<u32>), String> {
    let Some((day, nth)) = field.split_once('#') else {
        return Ok((field, None));
    };
    let nth = nth.parse().ok().filter(|nth| (1..=5).contains(nth));
    if nth.is_none() || day.contains([',', '/', '-']) {
        return Err(format!("{field:?} is not one weekday, # and a number from 1 to 5"));
    }
    Ok((day, nth))
}
