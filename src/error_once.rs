//! Reports an error that lasts once, not each time it occurs.

use std::time::{Duration, Instant};

use crate::error::Error;
use crate::mutex::Mutex;

/// An error that did not occur for this long is over: the next one is reported again.
const OVER: Duration = Duration::from_secs(300);

/// The last error, and when it occurred.
#[derive(Default)]
pub struct ErrorOnce(Mutex<Option<(Error, Instant)>>);

impl ErrorOnce {
    /// Notes an error. True if it is a new one, which is to be reported.
    pub fn begins(&self, error: &Error) -> bool {
        let mut last = self.0.lock();
        let lasts = |(known, at): &(Error, Instant)| alike(known, error) && at.elapsed() < OVER;
        let begins = !last.as_ref().is_some_and(lasts);
        *last = Some((error.clone(), Instant::now()));
        begins
    }

    /// The code of the error reply that lasts.
    pub fn refusal(&self) -> Option<String> {
        match &*self.0.lock() {
            Some((Error::Server { code, .. }, at)) if at.elapsed() < OVER => Some(code.clone()),
            _ => None,
        }
    }

    /// Notes that it works again. True if there was an error before.
    pub fn ended(&self) -> bool {
        self.0.lock().take().is_some()
    }

    /// Like [`ErrorOnce::ended`], without returning whether there was an error.
    pub fn ends(&self) {
        self.ended();
    }
}

/// Compares the codes of server errors: their texts also name the script or the key.
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
    fn an_error_is_reported_when_it_begins_and_when_it_comes_back() {
        let errors = ErrorOnce::default();
        assert!(errors.begins(&server("NOPERM", "no zadd")));
        assert!(!errors.begins(&server("NOPERM", "no hset")));
        assert!(errors.begins(&server("OOM", "")));
        assert!(!errors.begins(&server("OOM", "")));
        assert!(errors.ended() && !errors.ended());
        assert!(errors.begins(&server("OOM", "")));
        assert!(errors.begins(&Error::ConnectionLost("here".into())));
        assert!(!errors.begins(&Error::ConnectionLost("there".into())));
    }
}
