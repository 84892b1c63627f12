//! With which servers a batch of `enqueue` was begun.

use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::Keys;
use crate::reads::command;

/// How long Redis keeps the place of a server in its list, in seconds: a day longer than the counter of a batch.
const PLACE_SECONDS: i64 = 8 * 86_400;

/// Notes the place of this server in the list of a batch for 8 days.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn note_place(link: &Link, keys: &Keys, batch_id: &str, place: &str) -> Result<()> {
    let name = format!("servers-{batch_id}");
    let mut set = command("SET", &[&keys.of(&format!("ext:{name}")), place, "EX"]);
    set.arg(PLACE_SECONDS);
    // The name first, as scripts do it: `obliterate` finds the key by it.
    let writes = [command("LPUSH", &[&keys.of("ext:named"), &name]), set];
    link.pipeline(&writes, Retry::Safe).await?.into_iter().try_for_each(|written| written.map(drop))
}
