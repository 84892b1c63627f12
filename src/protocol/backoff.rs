//! How long a failed job waits before its next attempt.

use serde_json::Value;

/// The `backoff` option of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    pub kind: String,
    /// Milliseconds; fractions are kept, as in BullMQ.
    pub delay: f64,
    /// 0 to 1: the random share of the delay.
    pub jitter: f64,
}

/// The delay before the next attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Wait so many milliseconds; 0 = retry at once.
    Millis(i64),
    /// Only the worker's own strategy knows this type.
    Custom(String),
}

impl Backoff {
    /// Reads the option: a number (fixed) or `{type, delay, jitter}`; `None` when there is no backoff.
    #[must_use]
    pub fn from_option(option: &Value) -> Option<Self> {
        match option {
            Value::Number(number) => {
                let delay = number.as_f64().unwrap_or(0.0);
                // BullMQ normalises a truthy number only; 0 means no backoff.
                (delay != 0.0).then(|| Backoff { kind: "fixed".into(), delay, jitter: 0.0 })
            }
            Value::Object(object) => {
                let number = |name| object.get(name).and_then(Value::as_f64).unwrap_or(0.0);
                let kind = object.get("type").and_then(Value::as_str)?.to_owned();
                Some(Backoff { kind, delay: number("delay"), jitter: number("jitter") })
            }
            _ => None,
        }
    }

    /// Computes the delay before the attempt after failure number `failures` (counted from 1).
    ///
    /// `max` caps the delay before the jitter; BullMQ has no cap. `chance` is uniform in `[0, 1)`.
    #[must_use]
    pub fn next_delay(&self, failures: i64, max: Option<i64>, chance: f64) -> Delay {
        let base = match self.kind.as_str() {
            "fixed" => self.delay,
            "exponential" => {
                let exponent = failures.saturating_sub(1).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
                (2f64.powi(exponent) * self.delay).round()
            }
            other => return Delay::Custom(other.to_owned()),
        };
        let capped = max.map_or(base, |max| base.min(max as f64));
        let delay = if self.jitter > 0.0 {
            let least = capped * (1.0 - self.jitter);
            (chance * capped * self.jitter + least).floor()
        } else {
            capped
        };
        Delay::Millis(delay as i64)
    }
}
