//! Options that another client may have stored: of jobs, backoff, repetition, targets and profiles.

use bullrush::connection::Endpoint;
use bullrush::protocol::backoff::{Backoff, Delay};
use bullrush::protocol::route::{Profile, RouteEntry, Target};
use bullrush::protocol::schedule::{IterationOptions, Repeat};
use bullrush::protocol::{JobOptions, Keep};
use serde_json::Value;

const NOW: i64 = 1_700_000_000_000;
const MAX_BACKOFF: i64 = 60_000;

pub fn run(stored: &[u8]) {
    let options = JobOptions::parse(stored);
    let Ok(text) = std::str::from_utf8(stored) else { return };
    let _ = Endpoint::parse(text);
    if let Ok(target) = Target::parse(text) {
        let again = Target::parse(&target.canonical()).expect("it reads what it writes");
        assert_eq!(again, target);
        let _ = RouteEntry::parse(&target.slug(), text);
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    let _ = Keep::from_option(Some(&value));
    if let Some(backoff) = Backoff::from_option(&value).or(options.backoff) {
        check_backoff(&backoff);
    }
    if let Some(profile) = Profile::from_json(&value) {
        let written = serde_json::from_str(&profile.canonical()).expect("it writes JSON");
        assert_eq!(Profile::from_json(&written).as_ref(), Some(&profile));
        assert!(profile.self_routes().iter().all(|target| target.matches(&profile)));
    }
    if let Value::Object(members) = value {
        let members = options.repeat.unwrap_or(members);
        let repeat = Repeat::read(&members);
        if repeat.check(NOW).is_ok() {
            let _ = repeat.next(NOW, Some(NOW - 1));
            let _ = repeat.next(NOW, None);
        }
        let next = IterationOptions::new(members.clone(), members, "s", NOW, 2);
        let _ = JobOptions::parse(next.json.as_bytes());
    }
}

fn check_backoff(backoff: &Backoff) {
    for failures in [i64::MIN, 0, 1, 2, 64, 5000, i64::MAX] {
        for chance in [0.0, 0.5, 0.999] {
            let _ = backoff.next_delay(failures, None, chance);
            if let Delay::Millis(delay) = backoff.next_delay(failures, Some(MAX_BACKOFF), chance) {
                // A share above 1 can only be random.
                assert!(delay <= MAX_BACKOFF || backoff.jitter > 1.0, "{backoff:?} waits {delay} ms");
            }
        }
    }
}
