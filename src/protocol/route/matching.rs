//! Whether a worker may run a job.

use super::profile::Profile;
use super::target::{Mode, Target};

impl Target {
    /// Whether a worker with this profile may run a job with this target. Everybody matches the empty target.
    #[must_use]
    pub fn matches(&self, profile: &Profile) -> bool {
        if self.is_empty() {
            return true;
        }
        if self.server.is_some() {
            return self.server == profile.server;
        }
        let (stack, region) = (common(&self.stack, &profile.stack), common(&self.region, &profile.region));
        let mut held = self.capabilities.iter().map(|wanted| holds(profile, wanted));
        match self.mode {
            Mode::Any => stack || region || held.any(|held| held),
            Mode::All => {
                (stack || self.stack.is_empty()) && (region || self.region.is_empty()) && held.all(|held| held)
            }
            Mode::Each => {
                (stack || self.stack.is_empty())
                    && (region || self.region.is_empty())
                    && (self.capabilities.is_empty() || held.any(|held| held))
            }
        }
    }
}

fn common(wanted: &[String], had: &[String]) -> bool {
    wanted.iter().any(|token| had.contains(token))
}

/// `*` at the end stands for any characters, or none; `*` alone is any capability.
fn holds(profile: &Profile, wanted: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(beginning) => profile.capabilities.iter().any(|token| token.starts_with(beginning)),
        None => profile.capabilities.iter().any(|token| token == wanted),
    }
}
