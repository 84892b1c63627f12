//! Tokens: the words of targets and profiles, such as `gpu`, `cuda:12` or `eu-west-1`.

use crate::error::{Error, Result};

/// The longest token.
const MAX_LENGTH: usize = 64;

/// Whether a target may ask for all tokens that begin alike: `gpu:*`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wildcard {
    Allowed,
    Refused,
}

/// Checks one token of the field `name`.
pub(super) fn check(name: &str, token: &str, wildcard: Wildcard) -> Result<()> {
    let body = match wildcard {
        Wildcard::Allowed => token.strip_suffix('*').unwrap_or(token),
        Wildcard::Refused => token,
    };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/+-".contains(&byte);
    if !token.is_empty() && token.len() <= MAX_LENGTH && body.bytes().all(allowed) {
        return Ok(());
    }
    let stars = match (token.contains('*'), wildcard) {
        (false, _) => "",
        (true, Wildcard::Allowed) => "; * may only be its last character",
        (true, Wildcard::Refused) => "; only the capabilities of a target may end with *",
    };
    Err(Error::InvalidOption(format!(
        "{name} must be 1 to {MAX_LENGTH} letters, digits and . _ : / + -, not {token:?}{stars}"
    )))
}

/// Checks the tokens of the field `name`; returns them sorted, each once. `most` is how many there may be.
pub(super) fn sorted(
    name: &str,
    mut tokens: Vec<String>,
    most: Option<usize>,
    wildcard: Wildcard,
) -> Result<Vec<String>> {
    tokens.iter().try_for_each(|token| check(name, token, wildcard))?;
    tokens.sort_unstable();
    tokens.dedup();
    match most {
        Some(most) if tokens.len() > most => {
            Err(Error::InvalidOption(format!("{name} may have {most} different values, not {}", tokens.len())))
        }
        _ => Ok(tokens),
    }
}
