//! What the user of the URL may not do.

use crate::connection::Link;
use crate::error::{Error, Result};
use crate::protocol::Keys;
use crate::scripts::inspect::find_missing_rights;

/// Sent to the nodes of a cluster only.
const ON_A_CLUSTER: [&str; 2] = ["asking", "cluster|slots"];

/// Finds in one round trip which of the commands (in lower case, a subcommand after a bar) the user of the link may not
/// run, as the words of an ACL rule: `+hset`, `+script|load`, or `~bull:mail:*` if it may not use the keys of the
/// queue.
///
/// # Errors
/// What [`find_missing_rights`] returns, but for a refusal that tells a right.
pub async fn missing_rights(link: &Link, keys: &Keys, commands: &[String]) -> Result<Vec<String>> {
    let mut asked: Vec<&str> = commands.iter().map(String::as_str).collect();
    if link.endpoint().is_cluster() {
        asked.extend(ON_A_CLUSTER);
    }
    match find_missing_rights(link, keys, &asked).await {
        Ok(missing) => Ok(missing.into_iter().map(|name| format!("+{name}")).collect()),
        Err(error) => missing_right(&error, keys).map(|word| vec![word]).ok_or(error),
    }
}

/// Whether the server says that the user lacks a right.
#[must_use]
pub fn is_denial(error: &Error) -> bool {
    matches!(error, Error::Server { code, .. } if code == "NOPERM")
}

/// The right that a refusal of a whole call is about.
fn missing_right(error: &Error, keys: &Keys) -> Option<String> {
    let Error::Server { code, message } = error else { return None };
    if code != "NOPERM" {
        return None;
    }
    if let Some(command) = message.rsplit('\'').nth(1).filter(|_| message.contains("permissions to run")) {
        return Some(format!("+{command}"));
    }
    error.is_about_keys().then(|| format!("~{}:{}:*", keys.prefix(), keys.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(message: &str) -> Option<String> {
        let error = Error::Server { code: "NOPERM".into(), message: message.into() };
        missing_right(&error, &Keys::new("bull", "mail").unwrap())
    }

    #[test]
    fn a_refusal_tells_the_right_in_the_words_of_each_server() {
        let before_7 = "this user has no permissions to run the 'evalsha' command or its subcommand";
        assert_eq!(missing(before_7).as_deref(), Some("+evalsha"));
        assert_eq!(
            missing("User o'neil has no permissions to run the 'script|load' command").as_deref(),
            Some("+script|load")
        );
        let before_7 = "this user has no permissions to access one of the keys used as arguments";
        assert_eq!(missing(before_7).as_deref(), Some("~bull:mail:*"));
        assert_eq!(missing("No permissions to access a key").as_deref(), Some("~bull:mail:*"));
        assert_eq!(missing("something else"), None);
    }
}
