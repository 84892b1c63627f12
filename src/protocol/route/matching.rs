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

impl Target {
    /// Whether every worker that matches this target matches the other one as well. For two lists of clauses, each of
    /// which needs one of its words: each clause there has all the words of one here.
    #[must_use]
    pub fn implies(&self, other: &Target) -> bool {
        let (own, theirs) = (self.clauses(), other.clauses());
        let covers = |wide: &Clause<'_>, narrow: &Clause<'_>| {
            narrow.iter().all(|(field, word)| wide.iter().any(|(of, wanted)| of == field && includes(wanted, word)))
        };
        theirs.iter().all(|wide| own.iter().any(|narrow| covers(wide, narrow)))
    }

    /// A worker matches if it has one word of each clause.
    fn clauses(&self) -> Vec<Clause<'_>> {
        let fields: [Clause<'_>; 4] = [
            words("server", self.server.as_slice()),
            words("stack", &self.stack),
            words("region", &self.region),
            words("capabilities", &self.capabilities),
        ];
        let mut clauses: Vec<Clause<'_>> = match self.mode {
            Mode::Any => vec![fields.concat()],
            Mode::Each => fields.into(),
            Mode::All => {
                let [server, stack, region, capabilities] = fields;
                let each = capabilities.into_iter().map(|word| vec![word]);
                [server, stack, region].into_iter().chain(each).collect()
            }
        };
        clauses.retain(|clause| !clause.is_empty());
        clauses
    }
}

fn words<'a>(field: &'static str, tokens: &'a [String]) -> Clause<'a> {
    tokens.iter().map(|token| (field, token.as_str())).collect()
}

/// Words with their fields.
type Clause<'a> = Vec<(&'static str, &'a str)>;

/// Whether everything that matches `word` matches `wanted`.
fn includes(wanted: &str, word: &str) -> bool {
    wanted == word || wanted.strip_suffix('*').is_some_and(|beginning| word.starts_with(beginning))
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
