//! What a worker has.

use serde_json::Value;

use super::target::{Mode, Target};
use super::token::{self, Wildcard};
use crate::error::Result;

/// What a worker has; [`Target::matches`] compares it with what a job needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    pub(super) server: Option<String>,
    pub(super) stack: Vec<String>,
    pub(super) capabilities: Vec<String>,
    pub(super) region: Vec<String>,
}

impl Profile {
    /// Sorts the values.
    ///
    /// # Errors
    /// [`crate::error::Error::InvalidOption`] when a value is no token.
    pub fn new(
        server: Option<String>,
        stack: Vec<String>,
        capabilities: Vec<String>,
        region: Vec<String>,
    ) -> Result<Self> {
        let server = server.filter(|server| !server.is_empty());
        if let Some(server) = &server {
            token::check("profile.server", server, Wildcard::Refused)?;
        }
        let sorted = |name: &str, tokens| token::sorted(&format!("profile.{name}"), tokens, None, Wildcard::Refused);
        let (stack, region) = (sorted("stack", stack)?, sorted("region", region)?);
        Ok(Profile { server, stack, capabilities: sorted("capabilities", capabilities)?, region })
    }

    /// Reads a profile that [`Profile::canonical`] wrote; `None` if something else did.
    #[must_use]
    pub fn from_json(profile: &Value) -> Option<Self> {
        let server = match profile.get("server") {
            None => None,
            Some(server) => Some(server.as_str()?.to_owned()),
        };
        let tokens = |name: &str| match profile.get(name) {
            None => Some(Vec::new()),
            Some(tokens) => tokens.as_array()?.iter().map(|token| Some(token.as_str()?.to_owned())).collect(),
        };
        Profile::new(server, tokens("stack")?, tokens("capabilities")?, tokens("region")?).ok()
    }

    /// The targets with one criterion that it matches, the server first. Their routes need no registration: a worker
    /// knows their names, and leaves out one that the registry has for another target.
    #[must_use]
    pub fn self_routes(&self) -> Vec<Target> {
        let server = self.server.iter().map(|server| Target { server: Some(server.clone()), ..Target::default() });
        let one = |token: &String| vec![token.clone()];
        let capabilities =
            self.capabilities.iter().map(|token| Target { capabilities: one(token), ..Target::default() });
        let stack = self.stack.iter().map(|token| Target { stack: one(token), ..Target::default() });
        let region = self.region.iter().map(|token| Target { region: one(token), ..Target::default() });
        server.chain(capabilities).chain(stack).chain(region).collect()
    }

    /// The profile as JSON without spaces, sorted by names.
    #[must_use]
    pub fn canonical(&self) -> String {
        let target = Target {
            server: self.server.clone(),
            stack: self.stack.clone(),
            capabilities: self.capabilities.clone(),
            region: self.region.clone(),
            mode: Mode::All,
        };
        target.canonical()
    }
}
