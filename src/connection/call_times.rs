//! How long calls took, by name, from the wish to call to the reply.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::histogram::{Histogram, OF_CALLS};
use crate::mutex::Mutex;

/// Counts the calls of those who hold a link with these times.
#[derive(Default)]
pub struct CallTimes {
    // A worker runs a handful of scripts: looking through them is cheaper than hashing a name.
    by_name: Mutex<Vec<(&'static str, Arc<Histogram>)>>,
}

impl CallTimes {
    /// A call of this name got its reply after this time.
    pub fn note(&self, name: &'static str, time: Duration) {
        self.of(name).observe(time);
    }

    fn of(&self, name: &'static str) -> Arc<Histogram> {
        let mut by_name = self.by_name.lock();
        if let Some((_, found)) = by_name.iter().find(|(known, _)| *known == name) {
            return found.clone();
        }
        let made = Arc::new(Histogram::new(OF_CALLS));
        by_name.push((name, made.clone()));
        made
    }

    /// The counts per range of [`OF_CALLS`] and the sum of all times, by name.
    #[must_use]
    pub fn read(&self) -> BTreeMap<&'static str, (Vec<u64>, Duration)> {
        self.by_name.lock().iter().map(|(name, times)| (*name, times.read())).collect()
    }
}
