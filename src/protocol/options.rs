//! The part of a job's `opts` JSON that the worker uses.

use serde_json::{Map, Value};

use serde::Deserialize;

use super::backoff::Backoff;

/// How many finished jobs to keep: `count` -1 = all, 0 = none; `age` in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    pub count: i64,
    pub age: Option<i64>,
}

impl Keep {
    pub const ALL: Keep = Keep { count: -1, age: None };

    /// Reads `removeOnComplete`/`removeOnFail`; `None` when it is not set.
    #[must_use]
    pub fn from_option(option: Option<&Value>) -> Option<Self> {
        let keep = |count| Keep { count, age: None };
        match option? {
            Value::Bool(true) => Some(keep(0)),
            Value::Bool(false) => Some(Keep::ALL),
            Value::Number(number) => Some(keep(whole(number))),
            Value::Object(object) => Some(Keep {
                count: object.get("count").and_then(Value::as_number).map_or(-1, whole),
                age: object.get("age").and_then(Value::as_number).map(whole),
            }),
            _ => None,
        }
    }
}

fn whole(number: &serde_json::Number) -> i64 {
    number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or(0.0) as i64)
}

/// Reads `attempts` as a comparison in JavaScript does: other clients write texts and fractions, too.
fn attempts(option: Option<&Value>) -> i64 {
    match option {
        Some(Value::Number(number)) => number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or(0.0).ceil() as i64),
        Some(Value::String(text)) => text.trim().parse::<f64>().map_or(0, |number| number.ceil() as i64),
        Some(Value::Array(values)) if values.len() == 1 => attempts(values.first()),
        Some(Value::Bool(value)) => i64::from(*value),
        _ => 0,
    }
}

/// The members of a job's `opts` JSON that the worker uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobOptions {
    pub attempts: i64,
    pub backoff: Option<Backoff>,
    pub lifo: bool,
    pub remove_on_complete: Option<Keep>,
    pub remove_on_fail: Option<Keep>,
    pub stack_trace_limit: Option<usize>,
    pub keep_logs: Option<i64>,
    /// Publish a message when the job has finished.
    pub wake: bool,
    /// The `repeat` member of a scheduler's job, as it is.
    pub repeat: Option<Map<String, Value>>,
}

impl JobOptions {
    /// Reads the `opts` JSON. Members that cannot be read count as not set, as in BullMQ.
    #[must_use]
    pub fn parse(opts: &[u8]) -> Self {
        // Most jobs have exactly this text: it needs no parser.
        if opts == br#"{"attempts":0}"# {
            return JobOptions::default();
        }
        let read = serde_json::from_slice(opts);
        // Bytes that are no UTF-8 are replaced, as Node does.
        let read = read.or_else(|_| serde_json::from_str(&String::from_utf8_lossy(opts)));
        let Ok(Value::Object(mut object)) = read else {
            return JobOptions::default();
        };
        let number = |name: &str| object.get(name).and_then(Value::as_number).map(whole);
        JobOptions {
            attempts: attempts(object.get("attempts")),
            backoff: object.get("backoff").and_then(Backoff::from_option),
            lifo: object.get("lifo").and_then(Value::as_bool).unwrap_or(false),
            remove_on_complete: Keep::from_option(object.get("removeOnComplete")),
            remove_on_fail: Keep::from_option(object.get("removeOnFail")),
            stack_trace_limit: number("stackTraceLimit").and_then(|limit| usize::try_from(limit).ok()),
            keep_logs: number("kl"),
            wake: object.get("wake").and_then(Value::as_bool).unwrap_or(false),
            repeat: match object.remove("repeat") {
                Some(Value::Object(repeat)) => Some(repeat),
                _ => None,
            },
        }
    }
}
