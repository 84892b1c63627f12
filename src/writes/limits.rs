//! How named limits are set.

use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};
use crate::reads::command;

/// Sets a limit; the next call that takes it obeys.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn set_limit(link: &Link, home: &Keys, name: &str, settings: &str) -> Result<()> {
    link.call(command("HSET", &[&home.of("ext:limits"), name, settings]), Retry::InOrder).await.map(drop)
}

/// Removes a limit: what was used of it is forgotten when its windows are over. False if nobody has set it.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn remove_limit(link: &Link, home: &Keys, name: &str) -> Result<bool> {
    reply::yes(link.call(command("HDEL", &[&home.of("ext:limits"), name]), Retry::InOrder).await?)
}
