//! One field of a cron pattern: the values that it lists.

/// The values that a kind of field can have.
pub struct Kind {
    name: &'static str,
    first: u32,
    last: u32,
    names: &'static [&'static str],
}

pub const SECONDS: Kind = Kind { name: "second", first: 0, last: 59, names: &[] };
pub const MINUTES: Kind = Kind { name: "minute", first: 0, last: 59, names: &[] };
pub const HOURS: Kind = Kind { name: "hour", first: 0, last: 23, names: &[] };
pub const DAYS: Kind = Kind { name: "day of month", first: 1, last: 31, names: &[] };
pub const MONTHS: Kind = Kind {
    name: "month",
    first: 1,
    last: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
pub const WEEKDAYS: Kind =
    Kind { name: "day of week", first: 0, last: 7, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

/// The values of one field.
#[derive(Clone, Copy, Debug, Default)]
pub struct Field {
    values: u64,
    /// Weekdays with `L`: the last of this weekday in the month.
    last_weekdays: u64,
    /// `L`: the month's last day.
    last_day: bool,
    /// How many values are listed; one that is listed twice counts twice, as in cron-parser.
    count: u32,
}

impl Field {
    /// # Errors
    /// A description of the error.
    pub fn parse(text: &str, kind: &Kind) -> Result<Self, String> {
        let mut field = Field::default();
        for item in text.split(',') {
            field
                .take(item, kind)
                .ok_or_else(|| format!("{item:?} is no {} ({} to {})", kind.name, kind.first, kind.last))?;
        }
        Ok(field)
    }

    fn take(&mut self, item: &str, kind: &Kind) -> Option<()> {
        let (days, weekdays) = (kind.name == DAYS.name, kind.name == WEEKDAYS.name);
        if days && item == "L" {
            self.last_day = true;
            self.count += 1;
            return Some(());
        }
        if let (true, Some(weekday)) = (weekdays, item.strip_suffix('L')) {
            self.last_weekdays |= 1 << (value(weekday, kind)? % 7);
            self.count += 1;
            return Some(());
        }
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(digits(step).filter(|&step| step > 0)?)),
            None => (item, None),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" || (range == "?" && (days || weekdays)) => (kind.first, kind.last),
            Some((first, last)) => (value(first, kind)?, value(last, kind)?),
            None => (value(range, kind)?, if step.is_some() { kind.last } else { value(range, kind)? }),
        };
        if first > last {
            return None;
        }
        for value in (first..=last).step_by(step.unwrap_or(1) as usize) {
            self.add(if weekdays { value % 7 } else { value });
        }
        // A range of weekdays that ends in 7 includes Sunday, whatever its step, and Sunday is also 0.
        if weekdays && last == 7 && first > 0 && (step.is_some() || range.contains('-')) {
            self.add(0);
        }
        Some(())
    }

    fn add(&mut self, value: u32) {
        self.values |= 1 << value;
        self.count += 1;
    }

    #[must_use]
    pub fn has(self, value: u32) -> bool {
        self.values & (1 << value) != 0
    }

    #[must_use]
    pub fn has_last(self) -> bool {
        self.last_day
    }

    #[must_use]
    pub fn has_last_of(self, weekday: u32) -> bool {
        self.last_weekdays & (1 << weekday) != 0
    }

    #[must_use]
    pub fn count(self) -> u32 {
        self.count
    }

    /// The value, if it is the only one.
    #[must_use]
    pub fn only(self) -> Option<u32> {
        self.least().filter(|_| self.count == 1)
    }

    /// The least value, unless the field has `L`.
    #[must_use]
    pub fn least(self) -> Option<u32> {
        (!self.last_day && self.values != 0).then(|| self.values.trailing_zeros())
    }
}

fn value(text: &str, kind: &Kind) -> Option<u32> {
    let named = kind.names.iter().position(|name| name.eq_ignore_ascii_case(text));
    let value = named.and_then(|at| u32::try_from(at).ok()).map(|at| at + kind.first).or_else(|| digits(text));
    value.filter(|value| (kind.first..=kind.last).contains(value))
}

fn digits(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}
