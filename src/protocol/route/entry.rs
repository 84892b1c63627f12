//! The routes of a queue as its registry has them: the hash `ext:routes`, from slugs to JSON.

use serde_json::{Map, Value};

use super::target::{Mode, Target};
use crate::error::{Error, Result};

/// Where the jobs of a route go that no worker takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// How old a job is then, in ms.
    pub after: i64,
    /// The empty target is the base queue.
    pub to: Target,
}

/// What a producer says about the fallback of a route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NewFallback {
    #[default]
    Unchanged,
    Off,
    Set(Fallback),
}

/// One route of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteEntry {
    pub target: Target,
    pub fallback: Option<Fallback>,
}

impl Fallback {
    /// `"base"` or the canonical JSON of the target.
    #[must_use]
    pub fn to_json(&self) -> String {
        if self.to.is_empty() {
            "\"base\"".to_owned()
        } else {
            self.to.canonical()
        }
    }
}

impl RouteEntry {
    /// As the registry has it.
    #[must_use]
    pub fn to_json(&self) -> String {
        let target = self.target.canonical();
        match (&self.fallback, target.strip_suffix('}')) {
            (Some(fallback), Some(opened)) => {
                format!("{opened},\"fallback\":{},\"fallback_after\":{}}}", fallback.to_json(), fallback.after)
            }
            _ => target,
        }
    }

    /// Reads an entry of the registry.
    ///
    /// # Errors
    /// [`Error::InvalidOption`]: another version wrote it, or something else, and it is to be skipped.
    pub fn parse(slug: &str, json: &str) -> Result<Self> {
        let Ok(Value::Object(mut members)) = serde_json::from_str(json) else { return Err(strange("is not JSON")) };
        let fallback = match (members.remove("fallback_after"), members.remove("fallback")) {
            (None, None) => None,
            (Some(after), Some(to)) => Some(Fallback {
                after: after.as_i64().filter(|ms| *ms > 0).ok_or_else(|| strange("has a strange fallback_after"))?,
                to: match to {
                    Value::String(base) if base == "base" => Target::default(),
                    Value::Object(members) => Target::from_members(members)?,
                    _ => return Err(strange("has a strange fallback")),
                },
            }),
            _ => return Err(strange("has half a fallback")),
        };
        let target = Target::from_members(members)?;
        if target.slug() != slug || target.is_empty() {
            return Err(strange("is not the target of its slug"));
        }
        Ok(RouteEntry { target, fallback })
    }
}

impl Target {
    /// Reads a target from JSON, such as [`Target::canonical`] makes.
    ///
    /// # Errors
    /// [`Error::InvalidOption`]: it is no target, or has members that this version does not know.
    pub fn parse(json: &str) -> Result<Self> {
        match serde_json::from_str(json) {
            Ok(Value::Object(members)) => Self::from_members(members),
            _ => Err(strange("is not JSON")),
        }
    }

    fn from_members(mut members: Map<String, Value>) -> Result<Self> {
        let server = match members.remove("server") {
            None => None,
            Some(Value::String(server)) => Some(server),
            Some(_) => return Err(strange("has a strange server")),
        };
        let mode = match members.remove("mode") {
            None => Mode::All,
            Some(mode) => mode.as_str().and_then(Mode::parse).ok_or_else(|| strange("has an unknown mode"))?,
        };
        let mut tokens = |name: &str| {
            let Some(value) = members.remove(name) else { return Ok(Vec::new()) };
            let tokens: Option<Vec<String>> = value
                .as_array()
                .and_then(|tokens| tokens.iter().map(|token| token.as_str().map(str::to_owned)).collect());
            tokens.ok_or_else(|| strange(&format!("has a strange {name}")))
        };
        let (stack, capabilities, region) = (tokens("stack")?, tokens("capabilities")?, tokens("region")?);
        match members.keys().next() {
            Some(name) => Err(strange(&format!("has an unknown field {name:?}"))),
            None => Target::new(server, stack, capabilities, region, mode),
        }
    }
}

fn strange(what: &str) -> Error {
    Error::InvalidOption(format!("it {what}"))
}
