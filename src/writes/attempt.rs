//! A write that changes nothing.

use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::Keys;

/// Looks whether the server takes writes that need memory, as all of a worker do: it writes to a key only if that
/// exists, which it never does.
///
/// # Errors
/// The refusal of the server, such as `OOM`, `MISCONF` or `NOREPLICAS`, and what else [`Link::call`] returns.
pub async fn attempt_write(link: &Link, keys: &Keys) -> Result<()> {
    let mut write = redis::cmd("SET");
    write.arg(keys.of("ext:guard")).arg("").arg("XX");
    link.call(&write, Retry::Safe).await.map(drop)
}
