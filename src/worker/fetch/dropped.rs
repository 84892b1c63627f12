//! Ids of a queue that are no jobs: a fetch removes them and takes no job for them.

use crate::protocol::{JobRecord, Keys};

/// How many ids a text names.
const MOST_NAMED: usize = 10;

/// What the log says about them: many clients can delete keys, and a lost job must not pass without a word.
pub fn dropped_text(keys: &Keys, dropped: &[JobRecord]) -> String {
    let named = dropped.iter().take(MOST_NAMED).map(|record| match record.is_foreign() {
        true => format!("{} is not a job: its key is not a hash", record.id),
        false => format!("{} is not a job: it has no hash", record.id),
    });
    let mut text = named.collect::<Vec<_>>().join("; ");
    if dropped.len() > MOST_NAMED {
        text += &format!("; and {} more", dropped.len() - MOST_NAMED);
    }
    let which = if dropped.len() == 1 { "It was" } else { "They were" };
    format!("{text}. {which} removed from {}", keys.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ids_are_counted_and_a_few_are_named() {
        let keys = Keys::new("bull", "mail").unwrap();
        let gone = |id: &str| JobRecord::from_flat(id, redis::Value::Array(Vec::new())).unwrap();
        assert_eq!(dropped_text(&keys, &[gone("7")]), "7 is not a job: it has no hash. It was removed from mail");
        let many: Vec<_> = (0..12).map(|id| gone(&id.to_string())).collect();
        let text = dropped_text(&keys, &many);
        assert!(text.starts_with("0 is not a job: it has no hash; 1 is"), "{text}");
        assert!(text.ends_with("9 is not a job: it has no hash; and 2 more. They were removed from mail"), "{text}");
    }
}
