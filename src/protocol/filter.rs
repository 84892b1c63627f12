//! What a search looks for in a job: conditions on its id, its fields and its data.

use std::collections::HashMap;

use serde_json::value::RawValue;

/// What a value must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// These texts in this order, with any text between them: what stands between the stars of `mail-*`.
    Like(Vec<String>),
    Above(f64),
    Below(f64),
}

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Id,
    /// A field of the job's hash, as it is stored.
    Field(String),
    /// A value in the job's data, by the names that lead to it.
    Data(Vec<String>),
}

/// A condition. All conditions of a search must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub place: Place,
    pub test: Test,
}

/// Conditions, and the fields that they need.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    conditions: Vec<Condition>,
    fields: Vec<String>,
}

impl Filter {
    #[must_use]
    pub fn new(conditions: Vec<Condition>) -> Self {
        let mut fields: Vec<String> = Vec::new();
        for condition in &conditions {
            if let Some(field) = condition.field() {
                if !fields.iter().any(|known| known == field) {
                    fields.push(field.to_owned());
                }
            }
        }
        Filter { conditions, fields }
    }

    /// The fields of a job's hash that decide whether it fits.
    #[must_use]
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// For each field a text that it has in every job that fits, as it is stored; "" if there is none.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        let longest = |field: &String| {
            let of_field = self.conditions.iter().filter(|condition| condition.field() == Some(field));
            of_field.filter_map(Condition::text).max_by_key(|text| text.len()).unwrap_or("")
        };
        self.fields.iter().map(longest).collect()
    }

    /// Whether an id alone may be that of a job that fits.
    #[must_use]
    pub fn takes_id(&self, id: &str) -> bool {
        self.conditions
            .iter()
            .filter(|condition| condition.place == Place::Id)
            .all(|condition| condition.test.holds(id))
    }

    /// Whether a job fits, by its values of [`Filter::fields`].
    #[must_use]
    pub fn takes(&self, values: &[Option<Vec<u8>>]) -> bool {
        let value = |field: &str| {
            let at = self.fields.iter().position(|known| known == field)?;
            values.get(at)?.as_deref().map(String::from_utf8_lossy)
        };
        self.conditions.iter().all(|condition| match &condition.place {
            Place::Id => true,
            Place::Field(field) => value(field)
                .or_else(|| is_count(field).then(|| "0".into()))
                .is_some_and(|value| condition.test.holds(&value)),
            Place::Data(path) => value("data").is_some_and(|data| {
                condition.text().is_none_or(|text| data.contains(text)) && finds(&data, path, &condition.test)
            }),
        })
    }
}

impl Condition {
    fn field(&self) -> Option<&str> {
        match &self.place {
            Place::Id => None,
            Place::Field(field) => Some(field),
            Place::Data(_) => Some("data"),
        }
    }

    /// A text that the field has if this holds.
    fn text(&self) -> Option<&str> {
        match (&self.place, &self.test) {
            (Place::Field(field), Test::Like(parts)) if !is_count(field) => {
                parts.iter().map(String::as_str).max_by_key(|part| part.len())
            }
            (Place::Data(_), Test::Like(parts)) if parts.iter().any(|part| !plain(part).is_empty()) => {
                parts.iter().map(|part| plain(part)).max_by_key(|part| part.len())
            }
            // The name of the value; one that is a number may be a place in a list.
            (Place::Data(path), _) => path.last().map(|name| plain(name)).filter(|name| !is_index(name)),
            _ => None,
        }
    }
}

/// Whether a job without this field has 0 of it.
fn is_count(field: &str) -> bool {
    matches!(field, "atm" | "priority")
}

impl Test {
    fn holds(&self, value: &str) -> bool {
        let number = || value.trim().parse::<f64>().ok();
        match self {
            Test::Like(parts) => is_like(value, parts),
            Test::Above(bound) => number().is_some_and(|number| number > *bound),
            Test::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// Whether a text begins with the first part, ends with the last one, and has the others between them in this order.
fn is_like(value: &str, parts: &[String]) -> bool {
    let [first, between @ .., last] = parts else { return parts.iter().any(|only| only == value) };
    let Some(mut rest) = value.strip_prefix(first.as_str()) else { return false };
    for part in between {
        let Some(at) = rest.find(part.as_str()) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last.as_str())
}

/// The longest part of a text that every encoder of JSON writes as it is.
fn plain(text: &str) -> &str {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " _-.@:".contains(letter);
    text.split(|letter| !is_plain(letter)).max_by_key(|part| part.len()).unwrap_or("")
}

fn is_index(name: &str) -> bool {
    name.bytes().all(|digit| digit.is_ascii_digit())
}

/// Whether a value of this JSON, at the end of the path, passes the test. In a list a number leads to a place, and any
/// other name to all of its values.
fn finds(json: &str, path: &[String], test: &Test) -> bool {
    let json = json.trim();
    if json.starts_with('[') {
        let Ok(values) = serde_json::from_str::<Vec<&RawValue>>(json) else { return false };
        let at = path.first().filter(|name| is_index(name)).and_then(|name| name.parse::<usize>().ok());
        if let Some(value) = at.and_then(|at| values.get(at)) {
            return finds(value.get(), &path[1..], test);
        }
        return values.iter().any(|value| finds(value.get(), path, test));
    }
    let Some((name, rest)) = path.split_first() else { return scalar(json).is_some_and(|value| test.holds(&value)) };
    let Ok(values) = serde_json::from_str::<HashMap<String, &RawValue>>(json) else { return false };
    values.get(name).is_some_and(|value| finds(value.get(), rest, test))
}

/// A text without its quotes, or a number, true, false or null as it is written; `None` for an object.
fn scalar(json: &str) -> Option<String> {
    match json.as_bytes().first()? {
        b'{' => None,
        b'"' => serde_json::from_str(json).ok(),
        _ => Some(json.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(pattern: &str) -> Test {
        Test::Like(pattern.split('*').map(str::to_owned).collect())
    }

    fn data(path: &str, test: Test) -> Condition {
        Condition { place: Place::Data(path.split('.').map(str::to_owned).collect()), test }
    }

    fn takes(condition: Condition, json: &str) -> bool {
        Filter::new(vec![condition]).takes(&[Some(json.into())])
    }

    #[test]
    fn a_star_is_any_text() {
        for (pattern, value, fits) in [
            ("mail", "mail", true),
            ("mail", "mails", false),
            ("mail*", "mails", true),
            ("*ail", "mail", true),
            ("m*l", "ml", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*a", "a", false),
            ("*", "", true),
            ("*x*", "axb", true),
        ] {
            assert_eq!(like(pattern).holds(value), fits, "{pattern} {value}");
        }
    }

    #[test]
    fn a_path_leads_to_values() {
        let json = r#"{"user": {"id": 17, "tags": ["a", "b"]}, "items": [{"n": 1}, {"n": 2.5}], "é": "\u00e9\/x"}"#;
        assert!(takes(data("user.id", like("17")), json));
        assert!(!takes(data("user.id", like("1")), json));
        assert!(!takes(data("user", like("*")), json));
        assert!(takes(data("user.tags", like("b")), json));
        assert!(takes(data("user.tags.0", like("a")), json));
        assert!(!takes(data("user.tags.0", like("b")), json));
        assert!(takes(data("items.n", Test::Above(2.0)), json));
        assert!(!takes(data("items.0.n", Test::Above(2.0)), json));
        assert!(takes(data("é", like("é/x")), json));
        assert!(!takes(data("é", like("é/x")), "not JSON é x"));
    }

    #[test]
    fn the_text_of_a_field_is_in_every_job_that_fits() {
        let text = |condition: Condition| Filter::new(vec![condition]).texts()[0].to_owned();
        assert_eq!(text(data("user.name", like("Zoë Smith"))), " Smith");
        assert_eq!(text(data("user.name", like("*"))), "name");
        assert_eq!(text(data("tags.0", like("*"))), "");
        assert_eq!(text(data("amount", Test::Above(1.0))), "amount");
        let field = |name: &str, test| Condition { place: Place::Field(name.to_owned()), test };
        assert_eq!(text(field("name", like("wel*come/x"))), "come/x");
        assert_eq!(text(field("atm", like("0"))), "");
    }

    #[test]
    fn a_job_that_has_not_run_has_no_attempts_and_no_start() {
        let never = |field: &str, test| {
            Filter::new(vec![Condition { place: Place::Field(field.to_owned()), test }]).takes(&[None])
        };
        assert!(never("atm", Test::Below(1.0)) && never("atm", like("0")));
        assert!(!never("processedOn", Test::Below(1.0)));
    }
}
