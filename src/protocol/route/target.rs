//! What a job needs.

use std::fmt::Write;

use ring::digest::{digest, SHA256};

use super::token::{self, Wildcard};
use crate::error::Result;
use crate::protocol::tier::Tier;

const MAX_TOKENS: usize = 8;
const MAX_CAPABILITIES: usize = 16;
const MAX_SLUG: usize = 80;
/// How many hex digits of a hash replace the end of a slug that would be too long or ambiguous.
const HASH_DIGITS: usize = 10;

/// Which of its criteria a target needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    #[default]
    All,
    /// At least one criterion.
    Any,
    /// At least one value of each field.
    Each,
}

impl Mode {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::All => "all",
            Mode::Any => "any",
            Mode::Each => "each",
        }
    }

    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Mode::All, Mode::Any, Mode::Each].into_iter().find(|mode| mode.name() == name)
    }
}

/// What a job needs, in one form only: two targets with the same canonical JSON are the same target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Target {
    pub(super) server: Option<String>,
    pub(super) stack: Vec<String>,
    pub(super) capabilities: Vec<String>,
    pub(super) region: Vec<String>,
    pub(super) mode: Mode,
}

impl Target {
    /// Sorts the values. A mode that makes no difference becomes [`Mode::All`]. With a server nothing else counts.
    ///
    /// # Errors
    /// [`crate::error::Error::InvalidOption`] when a value is no token, or a field has too many.
    pub fn new(
        server: Option<String>,
        stack: Vec<String>,
        capabilities: Vec<String>,
        region: Vec<String>,
        mode: Mode,
    ) -> Result<Self> {
        let server = server.filter(|server| !server.is_empty());
        if let Some(server) = &server {
            token::check("target.server", server, Wildcard::Refused)?;
        }
        let stack = token::sorted("target.stack", stack, Some(MAX_TOKENS), Wildcard::Refused)?;
        let capabilities =
            token::sorted("target.capabilities", capabilities, Some(MAX_CAPABILITIES), Wildcard::Allowed)?;
        let region = token::sorted("target.region", region, Some(MAX_TOKENS), Wildcard::Refused)?;
        if server.is_some() {
            return Ok(Target { server, ..Target::default() });
        }
        let mut target = Target { server, stack, capabilities, region, mode };
        if target.criteria() < 2 {
            target.mode = Mode::All;
        }
        Ok(target)
    }

    #[must_use]
    pub fn of_server(server: &str) -> Self {
        Target { server: Some(server.to_owned()), ..Target::default() }
    }

    /// Whether every worker may run the job: it goes to the base queue.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.criteria() == 0
    }

    /// How many criteria it has: the server, the stack, the region, and each capability.
    #[must_use]
    pub fn criteria(&self) -> usize {
        usize::from(self.server.is_some())
            + usize::from(!self.stack.is_empty())
            + usize::from(!self.region.is_empty())
            + self.capabilities.len()
    }

    #[must_use]
    pub fn tier(&self) -> Tier {
        match (&self.server, self.is_empty()) {
            (Some(_), _) => Tier::Server,
            (None, false) => Tier::Specific,
            (None, true) => Tier::Base,
        }
    }

    /// The target as JSON without spaces, sorted by names: equal targets have equal texts. No character of a token
    /// needs an escape.
    #[must_use]
    pub fn canonical(&self) -> String {
        let list = |tokens: &[String]| (!tokens.is_empty()).then(|| format!("[\"{}\"]", tokens.join("\",\"")));
        let text = |text: &str| format!("\"{text}\"");
        let members = [
            ("capabilities", list(&self.capabilities)),
            ("mode", (self.mode != Mode::All).then(|| text(self.mode.name()))),
            ("region", list(&self.region)),
            ("server", self.server.as_deref().map(text)),
            ("stack", list(&self.stack)),
        ];
        let members =
            members.iter().filter_map(|(name, value)| value.as_ref().map(|value| format!("\"{name}\":{value}")));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }

    /// The part of the route's name after `~`; "" for the empty target. Two targets never have the same one, but for a
    /// collision of hashes: only tokens without a separator of slugs are written as they are, and the end of a slug
    /// without a hash never looks like one of the same length.
    #[must_use]
    pub fn slug(&self) -> String {
        let fields: [(&str, &[String]); 4] =
            [("srv", self.server.as_slice()), ("cap", &self.capabilities), ("stk", &self.stack), ("reg", &self.region)];
        let named = fields.iter().filter(|(_, tokens)| !tokens.is_empty());
        let part = |(label, tokens): &(&str, &[String])| {
            let tokens: Vec<String> = tokens.iter().map(|token| plain(token)).collect();
            format!("{label}.{}", tokens.join("+"))
        };
        let mut slug = named.map(part).collect::<Vec<_>>().join("_");
        if self.mode != Mode::All {
            slug = format!("{}.{slug}", self.mode.name());
        }
        let is_plain = fields.iter().all(|(_, tokens)| tokens.iter().all(|token| is_plain(token)));
        if is_plain && slug.len() < MAX_SLUG {
            return slug; // one that was cut has exactly MAX_SLUG characters
        }
        slug.truncate(MAX_SLUG - HASH_DIGITS - 1);
        slug.push('.');
        for byte in &digest(&SHA256, self.canonical().as_bytes()).as_ref()[..HASH_DIGITS / 2] {
            let _ = write!(slug, "{byte:02x}");
        }
        slug
    }
}

/// Whether a character means nothing in a slug, and may be in the name of a queue. `+` and `_` separate tokens and
/// fields.
fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-')
}

/// A token in which every character that is not plain is a `-`.
fn plain(token: &str) -> String {
    token.chars().map(|c| if is_plain_char(c) { c } else { '-' }).collect()
}

/// Whether a slug can have a token as it is: also its end is not like that of a slug with a hash.
fn is_plain(token: &str) -> bool {
    let is_hash = |end: &str| end.len() == HASH_DIGITS && end.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    token.chars().all(is_plain_char) && !token.rsplit_once('.').is_some_and(|(_, end)| is_hash(end))
}
