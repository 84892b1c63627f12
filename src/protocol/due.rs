//! The latest moment at which a job can be due.

use chrono::{DateTime, SecondsFormat};

use crate::error::{Error, Result};

/// The score of a delayed job is its due time in ms times this, plus its place among the jobs of that ms.
pub const PER_MS: i64 = 4096;

/// In ms: Redis scores are exact only up to 2^53. Later jobs would lose their order and be due at the wrong time.
pub const LATEST: i64 = (1 << 53) / PER_MS - 1;

/// The first score of this ms.
#[must_use]
pub fn first_score(ms: i64) -> i64 {
    ms.saturating_mul(PER_MS)
}

/// The last score of this ms.
#[must_use]
pub fn last_score(ms: i64) -> i64 {
    first_score(ms.saturating_add(1)).saturating_sub(1)
}

/// The ms of a score.
#[must_use]
pub fn of_score(score: f64) -> i64 {
    (score / PER_MS as f64).floor() as i64
}

/// Checks that a moment is not too late; `option` is its name in the error.
///
/// # Errors
/// [`Error::InvalidOption`] names the latest moment.
pub fn check(option: &str, due: i64) -> Result<()> {
    if due <= LATEST {
        return Ok(());
    }
    let shown = |ms: i64| {
        DateTime::from_timestamp_millis(ms)
            .map_or_else(|| format!("{ms} ms after 1970"), |time| time.to_rfc3339_opts(SecondsFormat::Millis, true))
    };
    Err(Error::InvalidOption(format!(
        "{option}: a job cannot be due later than {}, and this one would be due at {}",
        shown(LATEST),
        shown(due)
    )))
}

/// Checks that a delay does not end too late.
///
/// # Errors
/// See [`check`].
pub fn check_delay(from: i64, delay: i64) -> Result<()> {
    check("delay", if delay > 0 { from.saturating_add(delay) } else { 0 })
}

/// The delay, or the longest possible one: for computed delays.
#[must_use]
pub fn capped(from: i64, delay: i64) -> i64 {
    delay.min(LATEST.saturating_sub(from).max(0))
}

/// Since when a job that waits may run, in ms since the epoch: since its delay has ended, or since its last start.
#[must_use]
pub fn since(timestamp: Option<&str>, processed_on: Option<&str>, opts: Option<&str>) -> i64 {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<f64>().ok()).map_or(0, |number| number as i64);
    let opts: Option<serde_json::Value> = opts.and_then(|json| serde_json::from_str(json).ok());
    let delay = opts.and_then(|opts| opts.get("delay")?.as_f64()).map_or(0, |delay| delay as i64);
    number(timestamp).saturating_add(delay.max(0)).max(number(processed_on))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_score_of_the_latest_moment_is_the_last_exact_score() {
        assert_eq!(last_score(LATEST), (1 << 53) - 1);
        check("delay", LATEST).unwrap();
    }

    #[test]
    fn a_later_moment_is_refused_with_both_dates() {
        let text = check_delay(LATEST, 1).unwrap_err().to_string();
        assert!(text.contains("2039-09-07T15:47:35.551Z") && text.contains("2039-09-07T15:47:35.552Z"), "{text}");
        let text = check("start_date", i64::MAX).unwrap_err().to_string();
        assert!(text.starts_with("start_date: ") && text.contains("9223372036854775807 ms"), "{text}");
    }

    #[test]
    fn a_computed_delay_ends_at_the_latest_moment() {
        assert_eq!(capped(LATEST - 10, i64::MAX), 10);
        assert_eq!(capped(LATEST + 10, 5), 0);
        assert_eq!(capped(0, -5), -5);
    }
}
