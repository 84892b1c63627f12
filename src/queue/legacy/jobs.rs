//! What jobs tell about who added them: Bull, or BullMQ.

use std::fmt;

use redis::{Cmd, Value};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::flavour::Flavour;
use super::traces::Traces;
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::key_table::{Evidence, Key};
use crate::protocol::{reply, Keys};
use crate::reads::command;

/// The fields of a job's hash that tell who wrote it.
const FIELDS: [&str; 9] = ["name", "data", "opts", "attempts", "failedReason", "rjk", "atm", "ats", "stc"];
/// A job with one of these is of a scheduler of BullMQ, or a worker of BullMQ had it.
const OF_BULLMQ: [&str; 4] = ["rjk", "atm", "ats", "stc"];
/// So many jobs are read at each end of a list or set.
const SAMPLE: i64 = 5;

/// Reads some jobs at both ends of each list and set: where Bull and BullMQ both add, the jobs of one of them may be few.
/// Returns the flavour that those of Bull show, and what shows it. A job of Bull 3 or 4 may have lost its name, but no
/// job of Bull 1 or 2 looks like one of Bull 3 or 4. So these win, unless a set says that the queue is older.
pub(super) async fn find_job(link: &Link, keys: &Keys, traces: &Traces) -> Result<Option<(Flavour, String)>> {
    let ends = |(key, found): (&Key, &str)| {
        let key = keys.of(key.name);
        let range = |command_name, first: i64, last: i64| {
            let mut read = command(command_name, &[&key]);
            read.arg(first).arg(last);
            read
        };
        match found {
            "set" => vec![command("SRANDMEMBER", &[&key, &(2 * SAMPLE).to_string()])],
            "list" => vec![range("LRANGE", 0, SAMPLE - 1), range("LRANGE", -SAMPLE, -1)],
            _ => vec![range("ZRANGE", 0, SAMPLE - 1), range("ZRANGE", -SAMPLE, -1)],
        }
    };
    let commands: Vec<Cmd> =
        traces.present().filter(|(key, _)| key.evidence == Evidence::Jobs).flat_map(ends).collect();
    let mut ids: Vec<String> = Vec::new();
    for found in link.pipeline(&commands, Retry::Look).await? {
        for id in found.map(reply::texts).unwrap_or_else(|_| Ok(Vec::new()))? {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    let read = |id: &String| {
        let mut read = command("HMGET", &[&keys.job(id)]);
        read.arg(&FIELDS[..]);
        read
    };
    let commands: Vec<Cmd> = ids.iter().map(read).collect();
    let hashes = link.pipeline(&commands, Retry::Look).await?;
    let mut shown = Vec::new();
    for (id, hash) in ids.iter().zip(hashes) {
        // A key that is no hash tells nothing.
        let Ok(values) = hash else { continue };
        if let Some((flavour, field)) = writer(&reply::exactly(FIELDS.len(), values)?) {
            shown.push((flavour, format!("job {} {field}", keys.job(id))));
        }
    }
    let is_old = traces.set_of_bull().is_some();
    let wanted = if is_old { [Flavour::Two, Flavour::OneOrTwo] } else { [Flavour::ThreeOrFour, Flavour::Two] };
    let best = wanted.iter().find_map(|wanted| shown.iter().position(|(flavour, _)| flavour == wanted)).unwrap_or(0);
    Ok(shown.into_iter().nth(best))
}

/// The flavour of Bull that wrote a hash with these `FIELDS`, and what shows it; `None` for BullMQ, or if there is no
/// hash.
fn writer(values: &[Value]) -> Option<(Flavour, &'static str)> {
    let value = |field: &str| {
        let at = FIELDS.iter().position(|known| *known == field)?;
        match &values[at] {
            Value::BulkString(bytes) => Some(bytes.as_slice()),
            _ => None,
        }
    };
    let has = |field: &str| value(field).is_some();
    if OF_BULLMQ.into_iter().any(has) {
        return None;
    }
    // Bull 2 adds jobs with an empty reason; Bull 1.1 writes the field, too, when a job has failed.
    let old = if value("failedReason") == Some(b"") { Flavour::Two } else { Flavour::OneOrTwo };
    if has("attempts") {
        return Some((old, "has a field attempts"));
    }
    if !has("name") {
        return (has("data") || has("opts")).then_some((old, "has no name"));
    }
    let options: Options = serde_json::from_slice(value("opts")?).ok()?;
    options.are_of_bull().then_some((Flavour::ThreeOrFour, "has the options that Bull gives to each job"))
}

/// What the options of a job tell. Bull 3 and 4 add the attempts, the delay and the time to those that were given, in
/// this order. BullMQ writes the attempts as 0 if none are given, the delay and the time only if they are given, and
/// all of them in the order of Lua's tables, where the time is never the last one.
#[derive(Default)]
struct Options {
    attempts: f64,
    delay: Option<f64>,
    has_timestamp: bool,
    ends_with_timestamp: bool,
    repeat: Option<Repeat>,
}

/// Bull 3.0 has `cron` only, later ones have `key`, too.
#[derive(Deserialize)]
struct Repeat {
    key: Option<IgnoredAny>,
    cron: Option<IgnoredAny>,
}

impl Options {
    fn are_of_bull(&self) -> bool {
        let Some(delay) = self.delay.filter(|_| self.has_timestamp && self.attempts >= 1.0) else { return false };
        match &self.repeat {
            Some(repeat) => repeat.key.is_some() || repeat.cron.is_some(),
            // Who gives a time to BullMQ gives no delay of 0, and seldom a single attempt: these are Bull's defaults.
            None => self.ends_with_timestamp || delay == 0.0 || self.attempts == 1.0,
        }
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Options;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the options of a job")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Options, A::Error> {
                let mut options = Options::default();
                while let Some(name) = map.next_key::<String>()? {
                    options.ends_with_timestamp = name == "timestamp";
                    options.has_timestamp |= options.ends_with_timestamp;
                    match name.as_str() {
                        "attempts" => options.attempts = map.next_value::<Option<f64>>()?.unwrap_or_default(),
                        "delay" => options.delay = map.next_value()?,
                        "repeat" => options.repeat = map.next_value()?,
                        _ => map.next_value::<IgnoredAny>().map(drop)?,
                    }
                }
                Ok(options)
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(fields: &[(&str, &str)]) -> Vec<Value> {
        let find = |name: &&str| fields.iter().find(|(field, _)| field == name);
        let value = |found: Option<&(&str, &str)>| {
            found.map_or(Value::Nil, |(_, value)| Value::BulkString(value.as_bytes().to_vec()))
        };
        FIELDS.iter().map(|name| value(find(name))).collect()
    }

    #[test]
    fn a_hash_tells_who_wrote_it() {
        let name = ("name", "welcome");
        let flavour = |fields: &[(&str, &str)]| writer(&hash(fields)).map(|(flavour, _)| flavour);
        assert_eq!(flavour(&[("data", "{}"), ("opts", "{}"), ("attempts", "1")]), Some(Flavour::OneOrTwo));
        assert_eq!(flavour(&[("data", "{}"), ("failedReason", "")]), Some(Flavour::Two));
        assert_eq!(
            flavour(&[name, ("data", "{}"), ("opts", r#"{"attempts":1,"delay":0,"timestamp":5}"#)]),
            Some(Flavour::ThreeOrFour)
        );
        assert_eq!(flavour(&[name, ("data", "{}"), ("opts", r#"{"attempts":0}"#)]), None);
        assert_eq!(
            flavour(&[("data", "{}"), ("attempts", "1"), ("failedReason", "no")]),
            Some(Flavour::OneOrTwo),
            "1.1"
        );
        let default = ("opts", r#"{"attempts":1,"delay":0,"timestamp":5}"#);
        assert_eq!(flavour(&[name, default, ("atm", "1")]), None, "a worker of BullMQ had it");
        assert_eq!(flavour(&[name, default, ("rjk", "nightly")]), None, "a scheduler of BullMQ added it");
        assert_eq!(flavour(&[name, ("opts", "no JSON")]), None);
        assert_eq!(flavour(&[]), None, "no hash");
    }

    #[test]
    fn options_tell_bull_from_bullmq() {
        let are_of_bull = |text: &str| serde_json::from_str::<Options>(text).unwrap().are_of_bull();
        for text in [
            r#"{"attempts":1,"delay":0,"timestamp":5}"#,
            r#"{"delay":7,"attempts":3,"backoff":{"type":"fixed","delay":9},"timestamp":5}"#,
            r#"{"timestamp":5,"attempts":1,"delay":0}"#,
            r#"{"timestamp":5,"delay":7,"attempts":1}"#,
            r#"{"repeat":{"cron":"0 3 * * *"},"jobId":"repeat:a","delay":7,"timestamp":5,"attempts":1}"#,
            r#"{"repeat":{"count":1,"key":"a:::9","every":9},"delay":7,"timestamp":5,"prevMillis":9,"attempts":3}"#,
        ] {
            assert!(are_of_bull(text), "{text}");
        }
        for text in [
            r#"{"attempts":0}"#,
            r#"{"timestamp":5,"attempts":3}"#,
            r#"{"timestamp":5,"delay":7,"attempts":0}"#,
            r#"{"timestamp":5,"delay":7,"attempts":3}"#,
            r#"{"prevMillis":9,"timestamp":5,"repeat":{"every":9,"count":1},"delay":7,"attempts":3}"#,
            r#"{"attempts":null,"delay":0,"timestamp":5}"#,
        ] {
            assert!(!are_of_bull(text), "{text}");
        }
    }
}
