//! The names of routes: no two targets have the same one.

use std::collections::HashMap;

use bullrush::protocol::route::{Mode, Target};
use proptest::prelude::*;

/// Pieces that make tokens look like the names of routes: separators, labels, and the end of a name with a hash.
const PIECES: [&str; 16] = [
    "a",
    "b",
    "+",
    "_",
    ".",
    "-",
    ":",
    "/",
    "cap",
    "reg",
    "srv.",
    "any.",
    "1058a5b0ae",
    ".1058a5b0ae",
    "0",
    "xxxxxxxxxxxx",
];

fn token() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(&PIECES[..]), 1..6);
    pieces.prop_map(|pieces| pieces.concat().chars().take(64).collect())
}

fn targets() -> impl Strategy<Value = Vec<Target>> {
    let tokens = || prop::collection::vec(token(), 0..4);
    let mode = prop::sample::select(vec![Mode::All, Mode::Any, Mode::Each]);
    let target = (prop::option::weighted(0.2, token()), tokens(), tokens(), tokens(), mode);
    let target = target.prop_map(|(server, stack, capabilities, region, mode)| {
        Target::new(server, stack, capabilities, region, mode).unwrap()
    });
    prop::collection::vec(target, 2..8)
}

/// Targets whose only token is what another target is called, from any place in its name on.
fn named_like(target: &Target) -> Vec<Target> {
    let slug = target.slug();
    let ends = (0..slug.len()).map(|from| &slug[from..]).filter(|end| end.len() <= 64);
    ends.flat_map(|end| {
        let one = || vec![end.to_owned()];
        [
            Target::new(None, vec![], one(), vec![], Mode::All),
            Target::new(None, vec![], vec![], one(), Mode::All),
            Target::new(Some(end.to_owned()), vec![], vec![], vec![], Mode::All),
        ]
    })
    .filter_map(Result::ok)
    .collect()
}

/// The first two different targets of the same name.
fn namesakes(targets: Vec<Target>) -> Option<(Target, Target)> {
    let mut named: HashMap<String, Target> = HashMap::new();
    for target in targets {
        if let Some(other) = named.insert(target.slug(), target.clone()).filter(|other| *other != target) {
            return Some((target, other));
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn two_targets_never_have_one_name(targets in targets()) {
        let like: Vec<Target> = targets.iter().flat_map(named_like).collect();
        prop_assert_eq!(namesakes([targets, like].concat()), None);
    }

    #[test]
    fn a_name_is_that_of_a_queue_and_always_the_same(targets in targets()) {
        for target in targets {
            let slug = target.slug();
            let allowed = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
            prop_assert!(slug.len() <= 80 && slug.chars().all(allowed), "{}", slug);
            prop_assert_eq!(Target::parse(&target.canonical()).unwrap().slug(), slug);
        }
    }
}

/// A name that is cut ends with a hash, and a name of this length could end like one.
#[test]
fn a_name_without_a_hash_is_shorter_than_one_that_was_cut() {
    let padded = |length: usize, region: &[&str]| {
        let capabilities = ["a".repeat(30), "b".repeat(length)];
        let region = region.iter().map(|&region| region.to_owned()).collect();
        Target::new(None, vec![], capabilities.to_vec(), region, Mode::All).unwrap()
    };
    // The first 69 characters of its name end with the label of the region, where the name is cut.
    let cut = padded(30, &["xxxxxxxxxxxx"]).slug();
    assert_eq!(cut.len(), 80);
    let (_, hash) = cut.rsplit_once("_reg.").unwrap();
    assert_ne!(padded(30, &[hash]).slug(), cut);
}
