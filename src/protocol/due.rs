//! When a job can be due at the latest.

use chrono::{DateTime, SecondsFormat};

use crate::error::{Error, Result};

/// In ms: a job's score among the delayed ones is this times 4096, and Redis counts exactly only up to 2^53. Beyond it jobs
/// would lose their order, and be found due at the wrong time.
pub const LATEST: i64 = (1 << 41) - 1;

/// Refuses a moment that is too late; `option` is what asks for it.
///
/// # Errors
/// [`Error::InvalidOption`] names the latest one.
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

/// Refuses a delay that ends too late.
///
/// # Errors
/// See [`check`].
pub fn check_delay(from: i64, delay: i64) -> Result<()> {
    check("delay", if delay > 0 { from.saturating_add(delay) } else { 0 })
}

/// The delay, or the longest that is possible: for delays that nobody chose.
#[must_use]
pub fn capped(from: i64, delay: i64) -> i64 {
    delay.min(LATEST.saturating_sub(from).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_score_of_the_latest_moment_is_the_last_that_redis_counts_exactly() {
        assert_eq!((LATEST + 1) * 4096, 1 << 53);
        check("delay", LATEST).unwrap();
    }

    #[test]
    fn a_later_moment_is_refused_with_both_dates() {
        let told = check_delay(LATEST, 1).unwrap_err().to_string();
        assert!(told.contains("2039-09-07T15:47:35.551Z") && told.contains("2039-09-07T15:47:35.552Z"), "{told}");
        let told = check("start_date", i64::MAX).unwrap_err().to_string();
        assert!(told.starts_with("start_date: ") && told.contains("9223372036854775807 ms"), "{told}");
    }

    #[test]
    fn a_delay_that_nobody_chose_ends_at_the_latest_moment() {
        assert_eq!(capped(LATEST - 10, i64::MAX), 10);
        assert_eq!(capped(LATEST + 10, 5), 0);
        assert_eq!(capped(0, -5), -5);
    }
}
