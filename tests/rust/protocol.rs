//! The protocol's pure parts.

use bullrush::connection::Endpoint;
use bullrush::error::Error;
use bullrush::protocol::backoff::{Backoff, Delay};
use bullrush::protocol::{JobBatch, JobOptions, JobRecord, Keep, Keys, NewJob};
use proptest::prelude::*;
use redis::Value;

#[test]
fn queue_names_are_checked_as_in_bullmq() {
    let text = |name| Keys::new("bull", name).unwrap_err().to_string();
    assert_eq!(text(""), "Queue name must be provided");
    assert_eq!(text("a:b"), "Queue name cannot contain :");
    let keys = Keys::new("bull", "mail").unwrap();
    assert_eq!(
        (keys.meta(), keys.marker(), keys.job("7").as_str()),
        ("bull:mail:meta", "bull:mail:marker", "bull:mail:7")
    );
}

#[test]
fn a_hash_tag_needs_something_in_its_braces() {
    for (prefix, name, tagged) in
        [("bull", "q", false), ("{bull}", "q", true), ("bull", "{q}", true), ("{}", "{q}", false), ("{", "q}", true)]
    {
        assert_eq!(Keys::new(prefix, name).unwrap().has_hash_tag(), tagged, "{prefix}:{name}");
    }
}

#[test]
fn endpoints_that_are_not_supported_are_refused_with_a_reason() {
    for url in [
        "redis+sentinel://:s3cret@h",
        "redis+cluster://:s3cret@h/1",
        "http://:s3cret@h",
        "redis://:s3cret@h/db",
        "s3cret",
    ] {
        let error = Endpoint::parse(url).unwrap_err();
        assert!(matches!(error, Error::InvalidOption(_)));
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}

#[test]
fn keep_rules_follow_bullmqs_table() {
    let keep = |opts: &str| JobOptions::parse(opts.as_bytes()).remove_on_complete;
    let count = |count| Some(Keep { count, age: None });
    assert_eq!(keep("{}"), None);
    assert_eq!(keep(r#"{"removeOnComplete":false}"#), count(-1));
    assert_eq!(keep(r#"{"removeOnComplete":true}"#), count(0));
    assert_eq!(keep(r#"{"removeOnComplete":0}"#), count(0));
    assert_eq!(keep(r#"{"removeOnComplete":1}"#), count(1));
    assert_eq!(keep(r#"{"removeOnComplete":{"age":60}}"#), Some(Keep { count: -1, age: Some(60) }));
    assert_eq!(keep(r#"{"removeOnComplete":{"age":60,"count":5}}"#), Some(Keep { count: 5, age: Some(60) }));
}

#[test]
fn job_options_are_read_and_invalid_ones_count_as_absent() {
    let opts = JobOptions::parse(
        br#"{"attempts":3,"lifo":true,"kl":5,"stackTraceLimit":2,"backoff":500,"repeat":{"count":1}}"#,
    );
    assert_eq!((opts.attempts, opts.lifo, opts.keep_logs, opts.stack_trace_limit), (3, true, Some(5), Some(2)));
    assert_eq!(opts.backoff, Some(Backoff { kind: "fixed".into(), delay: 500.0, jitter: 0.0 }));
    assert_eq!(opts.repeat.unwrap()["count"], 1);
    for nonsense in ["", "[]", "null", "{", r#"{"attempts":"x","backoff":true}"#] {
        assert_eq!(JobOptions::parse(nonsense.as_bytes()), JobOptions::default(), "{nonsense}");
    }
}

#[test]
fn a_count_of_attempts_that_is_no_count_gives_a_delay() {
    let backoff = Backoff { kind: "exponential".into(), delay: 10.0, jitter: 0.0 };
    let delay = |failures| backoff.next_delay(failures, Some(60_000), 0.5);
    assert_eq!([i64::MIN, -5_000_000_000, i64::MAX].map(delay), [0, 0, 60_000].map(Delay::Millis));
}

#[test]
fn backoff_delays_follow_bullmqs_table() {
    let delay = |kind: &str, jitter, failures, max| {
        Backoff { kind: kind.into(), delay: 1_000.0, jitter }.next_delay(failures, max, 0.5)
    };
    assert_eq!(delay("fixed", 0.0, 7, None), Delay::Millis(1_000));
    assert_eq!(delay("exponential", 0.0, 1, None), Delay::Millis(1_000));
    assert_eq!(delay("exponential", 0.0, 4, None), Delay::Millis(8_000));
    assert_eq!(delay("exponential", 0.0, 4, Some(5_000)), Delay::Millis(5_000));
    assert_eq!(delay("exponential", 0.5, 2, None), Delay::Millis(1_500));
    assert_eq!(delay("fixed", 1.0, 2, None), Delay::Millis(500));
    assert_eq!(delay("mine", 0.0, 1, None), Delay::Custom("mine".into()));
}

#[test]
fn result_codes_have_bullmqs_texts() {
    let text = |code| Error::code(code, "7", "moveToFinished", "active").to_string();
    assert_eq!(text(-1), "Missing key for job 7. moveToFinished");
    assert_eq!(text(-3), "Job 7 is not in the active state. moveToFinished");
    assert_eq!(text(-6), "Lock mismatch for job 7. Cmd moveToFinished from active");
    assert_eq!(text(-9), "Cannot complete job 7 because it has at least one failed child. moveToFinished");
}

#[test]
fn a_record_reads_the_larger_count_of_attempts() {
    let bulk = |text: &str| Value::BulkString(text.into());
    let flat = |fields: &[&str]| Value::Array(fields.iter().map(|field| bulk(field)).collect());
    let record = JobRecord::from_flat("7", flat(&["atm", "2", "ats", "3"])).unwrap();
    assert_eq!((record.atm(), record.ats(), record.data(), record.opts()), (2, 3, &b"{}"[..], &b"{}"[..]));
    let atm = |older| JobRecord::from_flat("7", flat(&["atm", "2", "attemptsMade", older])).unwrap().atm();
    assert_eq!((atm("0"), atm("3")), (2, 3));
    assert!(JobRecord::from_flat("7", flat(&[])).unwrap().is_missing());
}

type Row = (String, String, Option<String>, i64, bool);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let name = prop_oneof![Just("a".to_owned()), Just("b".to_owned())];
    let id = prop_oneof![Just(None), Just(Some(String::new())), "[a-z]{1,5}".prop_map(Some)];
    prop::collection::vec((name, ".{0,20}", id, 0..2i64, any::<bool>()), 0..900)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn chunks_hold_every_job_once_in_order_within_the_cap(rows in rows()) {
        let mut batch = JobBatch::new();
        for (name, data, id, number, lifo) in &rows {
            batch.push(NewJob {
                name, data: data.as_bytes(), opts: b"{}", id: id.as_deref(), timestamp: *number,
                delay: 0, priority: 0, lifo: *lifo,
            });
        }
        let mut seen = Vec::new();
        for chunk in batch.chunks() {
            prop_assert!(chunk.range().len() <= 250);
            let runs = chunk.runs();
            prop_assert_eq!(runs.iter().map(|run| run.len()).sum::<usize>(), chunk.range().len());
            for run in runs {
                prop_assert!(!run.is_empty());
                for (id, data) in run.jobs() {
                    prop_assert_eq!(id.is_empty(), !run.custom_ids);
                    let data = String::from_utf8(data.to_vec()).unwrap();
                    seen.push((run.name.to_owned(), data, id.to_owned(), run.timestamp, run.lifo));
                }
            }
        }
        let expected: Vec<_> = rows
            .into_iter()
            .map(|(name, data, id, number, lifo)| (name, data, id.unwrap_or_default(), number, lifo))
            .collect();
        prop_assert_eq!(seen, expected);
    }
}
