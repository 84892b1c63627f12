//! Cron patterns fire when cron-parser 4.9 says so.

use bullrush::error::Error;
use bullrush::protocol::cron::Cron;
use bullrush::protocol::schedule::{Iteration, Repeat};
use chrono::{DateTime, SecondsFormat};

fn millis(time: &str) -> i64 {
    DateTime::parse_from_rfc3339(time).unwrap().timestamp_millis()
}

fn next(pattern: &str, tz: &str, after: &str) -> Option<String> {
    let next = Cron::parse(pattern, Some(tz)).unwrap().next_after(millis(after))?;
    let shown = DateTime::from_timestamp_millis(next).unwrap().to_rfc3339_opts(SecondsFormat::AutoSi, true);
    Some(shown)
}

fn check(rows: &[(&str, &str, &str, &str)]) {
    for (pattern, tz, after, expected) in rows {
        assert_eq!(next(pattern, tz, after).as_deref(), Some(*expected), "{pattern} {tz} after {after}");
    }
}

#[test]
fn the_days_of_month_and_week_are_combined_as_documented() {
    check(&[
        ("0 0 13 * 5", "UTC", "2025-01-01T00:00:00Z", "2025-01-03T00:00:00Z"),
        ("0 0 13 * *", "UTC", "2025-01-01T00:00:00Z", "2025-01-13T00:00:00Z"),
        ("0 0 1-31 * 5", "UTC", "2025-01-01T00:00:00Z", "2025-01-03T00:00:00Z"),
        ("0 0 * * 1#2", "UTC", "2025-02-01T00:00:00Z", "2025-02-10T00:00:00Z"),
        ("0 0 * * 5L", "UTC", "2025-02-01T00:00:00Z", "2025-02-28T00:00:00Z"),
        ("0 0 L * *", "UTC", "2024-02-01T00:00:00Z", "2024-02-29T00:00:00Z"),
        ("0 0 * * 7", "UTC", "2025-01-01T00:00:00Z", "2025-01-05T00:00:00Z"),
        ("0 0 * feb mon-wed", "UTC", "2025-01-30T00:00:00Z", "2025-02-03T00:00:00Z"),
        ("0 0 29 2 *", "UTC", "2025-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("0 0 ? * 5", "UTC", "2025-01-01T00:00:00Z", "2025-01-03T00:00:00Z"),
        ("0 0 * * 7L", "UTC", "2025-01-01T00:00:00Z", "2025-01-26T00:00:00Z"),
    ]);
}

#[test]
fn seconds_steps_lists_and_names_are_understood() {
    check(&[
        ("*/10 * * * * *", "UTC", "2025-01-01T00:00:00Z", "2025-01-01T00:00:10Z"),
        ("* * * * * *", "UTC", "2025-01-01T00:00:00.500Z", "2025-01-01T00:00:01Z"),
        ("5/20 * * * *", "UTC", "2025-01-01T00:05:00Z", "2025-01-01T00:25:00Z"),
        ("1,31 8-9 * * *", "UTC", "2025-01-01T08:31:00Z", "2025-01-01T09:01:00Z"),
        ("@hourly", "UTC", "2025-01-01T00:00:00Z", "2025-01-01T01:00:00Z"),
        ("@daily", "Europe/Paris", "2025-01-01T00:00:00Z", "2025-01-01T23:00:00Z"),
        ("@weekly", "UTC", "2025-01-01T00:00:00Z", "2025-01-05T00:00:00Z"),
        ("@monthly", "UTC", "2025-01-01T00:00:00Z", "2025-02-01T00:00:00Z"),
        ("@yearly", "UTC", "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
    ]);
}

#[test]
fn a_skipped_hour_fires_one_hour_later() {
    check(&[
        ("30 2 * * *", "Europe/Madrid", "2025-03-29T12:00:00Z", "2025-03-30T01:30:00Z"),
        ("30 2 * * *", "Europe/Madrid", "2025-03-30T01:30:00Z", "2025-03-31T00:30:00Z"),
        ("30 3 * * *", "Europe/Madrid", "2025-03-29T12:00:00Z", "2025-03-30T01:30:00Z"),
        ("30 * * * *", "Europe/Madrid", "2025-03-30T00:30:00Z", "2025-03-30T01:30:00Z"),
        ("30 2 * * *", "America/New_York", "2025-03-08T12:00:00Z", "2025-03-09T07:30:00Z"),
    ]);
}

#[test]
fn a_repeated_hour_fires_once_unless_every_hour_fires() {
    check(&[
        ("30 2 * * *", "Europe/Madrid", "2025-10-25T12:00:00Z", "2025-10-26T00:30:00Z"),
        ("30 2 * * *", "Europe/Madrid", "2025-10-26T00:30:00Z", "2025-10-27T01:30:00Z"),
        ("0 * * * *", "Europe/Madrid", "2025-10-25T23:00:00Z", "2025-10-26T00:00:00Z"),
        ("0 * * * *", "Europe/Madrid", "2025-10-26T00:00:00Z", "2025-10-26T01:00:00Z"),
        ("0 * * * *", "Europe/Madrid", "2025-10-26T01:00:00Z", "2025-10-26T02:00:00Z"),
        ("*/30 * * * *", "Europe/Madrid", "2025-10-26T00:30:00Z", "2025-10-26T01:00:00Z"),
    ]);
}

/// A list of all days of the month restricts nothing, and eight weekdays neither.
#[test]
fn days_that_are_named_one_by_one_are_counted() {
    check(&[
        ("0 0 1-30 * 5", "UTC", "2036-04-01T12:00:00Z", "2036-04-04T00:00:00Z"),
        ("0 0 1-30 * 5", "UTC", "2036-05-01T12:00:00Z", "2036-05-02T00:00:00Z"),
        ("0 0 1-20,1-11 * 5", "UTC", "2036-04-01T12:00:00Z", "2036-04-04T00:00:00Z"),
        ("0 0 13 * 0-6", "UTC", "2036-04-01T12:00:00Z", "2036-04-02T00:00:00Z"),
        ("0 0 13 * 1-7", "UTC", "2036-04-01T12:00:00Z", "2036-04-13T00:00:00Z"),
        ("0 0 13 * 0,0-6", "UTC", "2036-04-01T12:00:00Z", "2036-04-13T00:00:00Z"),
        ("0 0 13 * 7-7", "UTC", "2036-04-01T12:00:00Z", "2036-04-06T00:00:00Z"),
    ]);
}

#[test]
fn the_clock_goes_forward() {
    check(&[
        ("30 2 * * *", "Europe/Paris", "2026-03-29T00:00:00Z", "2026-03-29T01:30:00Z"),
        ("0 * * * *", "Europe/Paris", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"),
        ("0 * * * *", "Europe/Paris", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"),
        ("15 1-4 * * *", "Europe/Paris", "2026-03-28T23:59:00Z", "2026-03-29T00:15:00Z"),
        ("15 1-4 * * *", "Europe/Paris", "2026-03-29T00:15:00Z", "2026-03-29T01:15:00Z"),
        ("15 1-4 * * *", "Europe/Paris", "2026-03-29T01:15:00Z", "2026-03-29T02:15:00Z"),
        ("*/20 * * * *", "Australia/Lord_Howe", "2026-10-03T15:00:00Z", "2026-10-03T15:10:00Z"),
        ("*/20 * * * *", "Australia/Lord_Howe", "2026-10-03T15:10:00Z", "2026-10-03T15:40:00Z"),
        ("*/20 * * * *", "Australia/Lord_Howe", "2026-10-03T15:40:00Z", "2026-10-03T16:00:00Z"),
    ]);
}

#[test]
fn the_clock_goes_back() {
    check(&[
        ("30 2 * * *", "Europe/Paris", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"),
        ("30 2 * * *", "Europe/Paris", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
        ("*/30 * * * *", "Europe/Paris", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"),
        ("*/30 * * * *", "Europe/Paris", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z"),
        ("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", "2026-11-01T05:30:00Z"),
        ("30 1 * * *", "America/New_York", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"),
    ]);
}

/// The one rule that differs from cron-parser, which skips the day: a silently missed daily job is worse.
#[test]
fn a_day_without_midnight_begins_with_its_first_instant() {
    check(&[
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-04T03:00:00Z"),
        ("0 0 * * *", "Africa/Cairo", "2026-04-23T12:00:00Z", "2026-04-23T22:00:00Z"),
    ]);
}

/// Firings of cron-parser 4.9.
#[test]
fn a_day_without_midnight_can_be_skipped() {
    for (pattern, tz, after, expected) in [
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-05T02:00:00Z"),
        ("0 0 * * *", "Africa/Cairo", "2026-04-23T12:00:00Z", "2026-04-24T21:00:00Z"),
        ("30 0 * * *", "Africa/Cairo", "2026-04-23T12:00:00Z", "2026-04-24T21:30:00Z"),
        ("0 0-1 * * *", "Africa/Cairo", "2026-04-23T12:00:00Z", "2026-04-23T22:00:00Z"),
        ("0 * * * *", "Africa/Cairo", "2026-04-23T21:30:00Z", "2026-04-23T22:00:00Z"),
        ("30 2 * * *", "Europe/Paris", "2026-03-29T00:00:00Z", "2026-03-29T01:30:00Z"),
    ] {
        let cron = Cron::parse(pattern, Some(tz)).unwrap().skipping_lost_midnights(true);
        assert_eq!(cron.next_after(millis(after)), Some(millis(expected)), "{pattern} {tz} after {after}");
    }
}

#[test]
fn only_the_value_bullmq_skips_days_without_midnight() {
    let next = |json: &str| repeat(json).next(millis("2026-04-23T12:00:00Z"), None).unwrap().unwrap().cron_next;
    let rule = |dst: &str| format!(r#"{{"pattern":"0 0 * * *","tz":"Africa/Cairo"{dst}}}"#);
    assert_eq!(next(&rule(r#","dst":"bullmq""#)), Some(millis("2026-04-24T21:00:00Z")));
    for other in ["", r#","dst":"later""#, r#","dst":1"#, r#","dst":null"#] {
        assert_eq!(next(&rule(other)), Some(millis("2026-04-23T22:00:00Z")), "{other}");
    }
}

#[test]
fn patterns_that_cron_parser_refuses_are_refused() {
    let refused = [
        "60 * * * *",
        "* * * * * * *",
        "0 0 15W * *",
        "a b c d e",
        "0 0 * * +5",
        "5-1 * * * *",
        "? * * * *",
        "0 0 * * sat-sun",
        "0 0 * * 1#6",
        "0 0 * * 1-3#2",
        "*/0 * * * *",
        "1,,2 * * * *",
        "1/2/3 * * * *",
        "0 0 l * *",
        "0 0 * january *",
        "0 0 31 4 *",
        "0 0 31 4 1",
        "0 0 1-L * *",
        "0 0 0 * *",
        "0 24 * * *",
        "@midnight",
        "H * * * *",
        "0 0 1 1 * 2030 *",
    ];
    for pattern in refused {
        let error = Cron::parse(pattern, None).unwrap_err();
        assert!(matches!(&error, Error::InvalidOption(text) if text.contains("cron pattern")), "{pattern}: {error}");
    }
    assert!(Cron::parse("* * * * *", Some("Mars/Olympus")).unwrap_err().to_string().contains("Mars/Olympus"));
    assert_eq!(next("0 0 31 4,6 *", "UTC", "2025-01-01T00:00:00Z"), None);
}

#[test]
fn a_pattern_without_a_zone_uses_that_of_the_process() {
    let cron = Cron::parse("0 * * * *", None).unwrap();
    let after = millis("2025-06-01T10:30:00Z");
    let next = cron.next_after(after).unwrap();
    assert!(next > after && next <= after + 3_600_000);
}

fn repeat(json: &str) -> Repeat {
    Repeat::read(serde_json::from_str::<serde_json::Value>(json).unwrap().as_object().unwrap())
}

#[test]
fn a_start_date_shifts_the_first_firing() {
    let repeat =
        repeat(&format!(r#"{{"pattern":"0 0 1 1 *","utc":true,"startDate":{}}}"#, millis("2027-06-01T00:00:00Z")));
    let next = repeat.next(millis("2025-01-01T00:00:00Z"), None).unwrap().unwrap();
    assert_eq!(next, Iteration { count: 1, cron_next: Some(millis("2028-01-01T00:00:00Z")) });
}

#[test]
fn a_schedule_ends_with_its_limit_or_its_end_date() {
    let now = millis("2025-01-01T12:00:00Z");
    let next = |json: &str, previous| repeat(json).next(now, previous).unwrap();
    assert_eq!(next(r#"{"every":1000,"count":4,"limit":5}"#, None), Some(Iteration { count: 5, cron_next: None }));
    assert_eq!(next(r#"{"every":1000,"count":5,"limit":5}"#, None), None);
    assert_eq!(next(&format!(r#"{{"every":1000,"endDate":{}}}"#, now - 1), None), None);
    assert!(next(&format!(r#"{{"every":1000,"endDate":{now}}}"#), None).is_some());
    let end = millis("2025-01-02T00:00:00Z");
    let daily = |end| format!(r#"{{"pattern":"0 0 * * *","tz":"UTC","endDate":{end}}}"#);
    assert_eq!(next(&daily(end), None).unwrap().cron_next, Some(end));
    assert_eq!(next(&daily(end - 1), None), None);
    // The next firing of a job that was added early is the one after its own.
    assert_eq!(next(&daily(end + 86_400_000), Some(end)).unwrap().cron_next, Some(end + 86_400_000));
}

#[test]
fn random_patterns_fire_as_in_cron_parser() {
    for row in include_str!("cron_parser.txt").lines().skip(1) {
        let [pattern, tz, after, expected] = row.split('|').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let cron = Cron::parse(pattern, Some(tz)).unwrap();
        let mut at = after.parse().unwrap();
        for firing in expected.split(',') {
            at = cron.next_after(at).unwrap();
            assert_eq!(at.to_string(), firing, "{row}");
        }
    }
}
