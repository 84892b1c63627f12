//! Which named limits there are.

use super::command;
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// The names of all limits, each with how it was set, as JSON.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn limits(link: &Link, home: &Keys) -> Result<Vec<(String, Vec<u8>)>> {
    reply::pairs(link.call(command("HGETALL", &[&home.of("ext:limits")]), Retry::Look).await?)
}
