//! Cron patterns, time zones and moments: a next time is later, and nothing is between.

use bullrush::protocol::cron::{check_zone, Cron};
use chrono_tz::TZ_VARIANTS;

/// A time in ms of 8 bytes, the zone of 2 bytes, a byte of flags, and the pattern.
pub fn run(given: &[u8]) {
    let Some((after, rest)) = given.split_first_chunk() else { return };
    let Some((zone, rest)) = rest.split_first_chunk() else { return };
    let Some((flags, pattern)) = rest.split_first() else { return };
    let Ok(pattern) = std::str::from_utf8(pattern) else { return };
    let _ = check_zone(pattern);
    let zone = TZ_VARIANTS[usize::from(u16::from_le_bytes(*zone)) % TZ_VARIANTS.len()].name();
    let Ok(cron) = Cron::parse(pattern, (flags & 1 == 0).then_some(zone)) else { return };
    let cron = cron.skipping_lost_midnights(flags & 2 != 0);
    let after = i64::from_le_bytes(*after);
    // Half of all: times between 1900 and 2100.
    let after = if flags & 4 == 0 { after % (1 << 42) } else { after };
    let mut at = after;
    for _ in 0..3 {
        let Some(next) = cron.next_after(at) else { return };
        assert!(next > at, "{pattern:?} in {zone} after {at} is {next}");
        assert_eq!(cron.next_after(next - 1), Some(next), "{pattern:?} in {zone} after {at}");
        at = next;
    }
}
