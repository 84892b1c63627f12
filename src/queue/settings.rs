//! Settings of a queue: global limits in `meta`, and the values there that no script can use.

use std::time::Duration;

use redis::Cmd;

use super::handle::QueueHandle;
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};
use crate::reads::command;

/// The counter that a manual rate limit writes: more jobs than any limit allows.
const MANUAL_LIMIT: i64 = 9_007_199_254_740_991;

impl QueueHandle {
    /// Stops all workers that have a rate limit for this time.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn rate_limit(&self, expire: Duration) -> Result<()> {
        let mut set = command("SET", &[&self.keys.of("limiter")]);
        set.arg(MANUAL_LIMIT).arg("PX").arg(expire.as_millis().max(1) as u64);
        self.write(&set).await.map(drop)
    }

    /// Limits how many jobs may be active at once, over all workers; `None` removes the limit. Returns how many
    /// settings were added or removed.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn set_global_concurrency(&self, concurrency: Option<i64>) -> Result<i64> {
        self.write_meta(&[("concurrency", concurrency)]).await
    }

    /// Limits how many jobs may start per duration (ms), over all workers; `None` removes the limit. Returns how many
    /// settings were added or removed.
    ///
    /// # Errors
    /// See [`QueueHandle::get_job`].
    pub async fn set_global_rate_limit(&self, limit: Option<(i64, i64)>) -> Result<i64> {
        let (max, duration) = limit.unzip();
        self.write_meta(&[("max", max), ("duration", duration)]).await
    }

    async fn write_meta(&self, fields: &[(&str, Option<i64>)]) -> Result<i64> {
        let set = fields.iter().all(|(_, value)| value.is_some());
        let mut write = command(if set { "HSET" } else { "HDEL" }, &[self.keys.meta()]);
        for (name, value) in fields {
            write.arg(name);
            if let (true, Some(value)) = (set, value) {
                write.arg(*value);
            }
        }
        reply::integer(self.write(&write).await?)
    }
}

/// The fields that hold a number, and what sets and removes them.
const NUMBERS: [(&str, &str); 4] = [
    ("concurrency", "set it with set_global_concurrency or remove it with remove_global_concurrency"),
    ("max", "set it with set_global_rate_limit or remove it with remove_global_rate_limit"),
    ("duration", "set it with set_global_rate_limit or remove it with remove_global_rate_limit"),
    ("opts.maxLenEvents", "set it with streams={\"events\": {\"max_len\": 10000}} of a Queue"),
];
/// The longest time to live, and the longest stream, that Redis takes.
const MOST: f64 = 9_007_199_254_740_991.0;

/// Reads the settings that another client may have written. Returns one sentence for each that the scripts ignore.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn ignored_settings(link: &Link, keys: &Keys) -> Result<Vec<String>> {
    let mut ask = Cmd::new();
    ask.arg("HMGET").arg(keys.meta()).arg(&NUMBERS.map(|(field, _)| field));
    let values = reply::array(link.call(&ask, Retry::Safe).await?)?;
    let mut warnings = Vec::new();
    for ((field, remedy), value) in NUMBERS.iter().zip(values) {
        if value == redis::Value::Nil {
            continue;
        }
        let text = reply::text(value)?;
        if let Some(reason) = unusable(field, &text) {
            let name = keys.name();
            warnings.push(format!(
                "setting {field} of queue {name} is {text:?}, which is {reason}, and is ignored: {remedy}"
            ));
        }
    }
    Ok(warnings)
}

/// The `maxmemory-policy` of a server that deletes keys when its memory is full: then jobs get lost. `None` for
/// `noeviction`, or if the server does not tell.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn evicting_policy(link: &Link) -> Result<Option<String>> {
    let info = reply::text(link.call(redis::cmd("INFO").arg("memory"), Retry::Safe).await?)?;
    let policy = info.lines().find_map(|line| line.strip_prefix("maxmemory_policy:")).map(str::trim);
    Ok(policy.filter(|policy| *policy != "noeviction").map(str::to_owned))
}

/// Why the scripts ignore a value; see `lua/include/queue/get_target.lua`.
fn unusable(field: &str, text: &str) -> Option<&'static str> {
    if field == "opts.maxLenEvents" {
        let digits = !text.is_empty() && text.len() < 19 && text.bytes().all(|byte| byte.is_ascii_digit());
        return (!digits || text.len() > 1 && text.starts_with('0')).then_some("not a stream length");
    }
    let text = text.trim();
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as f64),
        None => text.parse::<f64>().ok(),
    };
    match number {
        Some(number) if field == "duration" && number.abs() > MOST => Some("not a time in milliseconds"),
        Some(number) if !number.is_nan() => None,
        _ => Some("not a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::unusable;

    #[test]
    fn values_that_the_scripts_take_give_no_warning() {
        for field in ["concurrency", "max", "duration"] {
            for text in ["4", "10.5", "-5", "0", "1e3", "0x10"] {
                assert_eq!(unusable(field, text), None, "{field} {text:?}");
            }
            for text in ["", "abc", "null", "nan"] {
                assert!(unusable(field, text).is_some(), "{field} {text:?}");
            }
        }
        assert_eq!(unusable("max", "Infinity"), None);
        assert!(unusable("duration", "Infinity").is_some());
    }

    #[test]
    fn a_stream_has_a_whole_length() {
        for text in ["0", "7", "10000", "999999999999999999"] {
            assert_eq!(unusable("opts.maxLenEvents", text), None, "{text:?}");
        }
        for text in ["", "abc", "10.5", "-5", "1e3", "007", "99999999999999999999"] {
            assert!(unusable("opts.maxLenEvents", text).is_some(), "{text:?}");
        }
    }
}
