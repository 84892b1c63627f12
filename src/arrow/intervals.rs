//! Calendar intervals as ISO 8601 durations.

use arrow_array::cast::AsArray;
use arrow_array::types::{IntervalDayTimeType, IntervalMonthDayNanoType, IntervalYearMonthType};
use arrow_array::Array;
use arrow_json::Encoder;
use arrow_schema::{ArrowError, IntervalUnit};

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Months, days and nanoseconds of each row; each has its own sign.
pub(super) struct Intervals(Vec<(i32, i32, i64)>);

impl Intervals {
    pub fn read(array: &dyn Array, unit: IntervalUnit) -> Result<Self, ArrowError> {
        Ok(Self(match unit {
            IntervalUnit::YearMonth => {
                array.as_primitive::<IntervalYearMonthType>().values().iter().map(|&months| (months, 0, 0)).collect()
            }
            IntervalUnit::DayTime => {
                let values = array.as_primitive::<IntervalDayTimeType>().values().iter();
                values.map(|value| (0, value.days, i64::from(value.milliseconds) * 1_000_000)).collect()
            }
            IntervalUnit::MonthDayNano => {
                let values = array.as_primitive::<IntervalMonthDayNanoType>().values().iter();
                values.map(|value| (value.months, value.days, value.nanoseconds)).collect()
            }
        }))
    }
}

impl Encoder for Intervals {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        out.push(b'"');
        out.extend_from_slice(iso(self.0[row]).as_bytes());
        out.push(b'"');
    }
}

fn iso((months, days, nanos): (i32, i32, i64)) -> String {
    let part = |amount: i64, unit: &str| if amount == 0 { String::new() } else { format!("{amount}{unit}") };
    let date =
        [part(i64::from(months / 12), "Y"), part(i64::from(months % 12), "M"), part(i64::from(days), "D")].concat();
    let seconds = nanos / NANOS_PER_SECOND;
    let fraction = format!("{:09}", (nanos % NANOS_PER_SECOND).abs());
    let fraction = fraction.trim_end_matches('0');
    let second = match (seconds % 60, fraction) {
        (second, "") => part(second, "S"),
        // -0 has no sign of its own.
        (second, fraction) => format!("{}{}.{fraction}S", if nanos < 0 { "-" } else { "" }, second.abs()),
    };
    let time = [part(seconds / 3600, "H"), part(seconds / 60 % 60, "M"), second].concat();
    match (date.as_str(), time.as_str()) {
        ("", "") => "PT0S".to_owned(),
        (date, "") => format!("P{date}"),
        (date, time) => format!("P{date}T{time}"),
    }
}

#[cfg(test)]
mod tests {
    use super::iso;

    #[test]
    fn an_interval_has_only_the_parts_that_are_not_zero() {
        assert_eq!(iso((14, 25, 18_367_000_000_000)), "P1Y2M25DT5H6M7S");
        assert_eq!(iso((0, 0, 0)), "PT0S");
        assert_eq!(iso((-14, 0, 0)), "P-1Y-2M");
        assert_eq!(iso((0, 1, -500_000_000)), "P1DT-0.5S");
        assert_eq!(iso((0, 0, 60_000_001_000)), "PT1M0.000001S");
    }
}
