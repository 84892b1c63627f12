//! Settings in `meta` that another client wrote and that no script can use: they are ignored, and somebody should know.

use redis::Cmd;

use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// The fields that hold a number, and what sets and removes them.
const NUMBERS: [(&str, &str); 4] = [
    ("concurrency", "set it with set_global_concurrency or remove it with remove_global_concurrency"),
    ("max", "set it with set_global_rate_limit or remove it with remove_global_rate_limit"),
    ("duration", "set it with set_global_rate_limit or remove it with remove_global_rate_limit"),
    ("opts.maxLenEvents", "set it with streams={\"events\": {\"max_len\": 10000}} of a Queue"),
];
/// Redis takes no longer time to live and no longer stream.
const MOST: f64 = 9_007_199_254_740_991.0;

/// Reads the settings; one sentence for each that is ignored.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn ignored_settings(link: &Link, keys: &Keys) -> Result<Vec<String>> {
    let mut ask = Cmd::new();
    ask.arg("HMGET").arg(keys.meta()).arg(&NUMBERS.map(|(field, _)| field));
    let values = reply::array(link.call(&ask, Retry::Safe).await?)?;
    let mut told = Vec::new();
    for ((field, remedy), value) in NUMBERS.iter().zip(values) {
        if value == redis::Value::Nil {
            continue;
        }
        let text = reply::text(value)?;
        if let Some(reason) = unusable(field, &text) {
            let name = keys.name();
            told.push(format!(
                "setting {field} of queue {name} is {text:?}, which is {reason}, and is ignored: {remedy}"
            ));
        }
    }
    Ok(told)
}

/// Why the scripts ignore a value; see `lua/include/queue/get_target.lua`.
fn unusable(field: &str, text: &str) -> Option<&'static str> {
    if field == "opts.maxLenEvents" {
        let digits = !text.is_empty() && text.len() < 19 && text.bytes().all(|byte| byte.is_ascii_digit());
        return (!digits || text.len() > 1 && text.starts_with('0')).then_some("no length of a stream");
    }
    let text = text.trim();
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as f64),
        None => text.parse::<f64>().ok(),
    };
    match number {
        Some(number) if field == "duration" && number.abs() > MOST => Some("no time in milliseconds"),
        Some(number) if !number.is_nan() => None,
        _ => Some("no number"),
    }
}

#[cfg(test)]
mod tests {
    use super::unusable;

    #[test]
    fn what_the_scripts_take_is_not_told() {
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
