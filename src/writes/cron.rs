//! Which schedulers `@tasks.cron` made, in the set `ext:cron`: the whole definition of each.

use redis::Cmd;

use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::Keys;
use crate::reads::command;

/// Notes the definition of a scheduler.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn note_cron(link: &Link, keys: &Keys, definition: &str) -> Result<()> {
    link.call(command("SADD", &[&keys.of("ext:cron"), definition]), Retry::InOrder).await.map(drop)
}

/// Forgets the definitions of schedulers that have gone.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn forget_crons(link: &Link, keys: &Keys, definitions: &[String]) -> Result<()> {
    let mut remove: Cmd = command("SREM", &[&keys.of("ext:cron")]);
    remove.arg(definitions);
    link.call(remove, Retry::InOrder).await.map(drop)
}
