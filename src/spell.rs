//! A trouble that lasts is told once, not each time it is met.

use std::time::{Duration, Instant};

use crate::error::Error;
use crate::lock::Mutex;

/// A trouble that was not met for so long was over: the next one is a new one.
const OVER: Duration = Duration::from_secs(300);

/// The trouble met last, and when.
#[derive(Default)]
pub struct Spell(Mutex<Option<(Error, Instant)>>);

impl Spell {
    /// Notes a trouble; true if it is not the one that lasts.
    pub fn begins(&self, error: &Error) -> bool {
        let mut last = self.0.lock();
        let lasts = |(known, met): &(Error, Instant)| alike(known, error) && met.elapsed() < OVER;
        let begins = !last.as_ref().is_some_and(lasts);
        *last = Some((error.clone(), Instant::now()));
        begins
    }

    /// Notes that it works again.
    pub fn ends(&self) {
        *self.0.lock() = None;
    }
}

/// Texts of the server name the script or the key; the code says what is the matter.
fn alike(one: &Error, other: &Error) -> bool {
    match (one, other) {
        (Error::Server { code: one, .. }, Error::Server { code: other, .. }) => one == other,
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(code: &str, message: &str) -> Error {
        Error::Server { code: code.to_owned(), message: message.to_owned() }
    }

    #[test]
    fn a_trouble_is_told_when_it_begins_and_when_it_comes_back() {
        let spell = Spell::default();
        assert!(spell.begins(&server("NOPERM", "no zadd")));
        assert!(!spell.begins(&server("NOPERM", "no hset")));
        assert!(spell.begins(&server("OOM", "")));
        assert!(!spell.begins(&server("OOM", "")));
        spell.ends();
        assert!(spell.begins(&server("OOM", "")));
        assert!(spell.begins(&Error::ConnectionLost("here".into())));
        assert!(!spell.begins(&Error::ConnectionLost("there".into())));
    }
}
