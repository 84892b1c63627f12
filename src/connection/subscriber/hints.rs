//! Publishing.

use std::borrow::Borrow;
use std::time::Duration;

use redis::Cmd;

use crate::connection::{Link, Retry};

/// How long a publisher waits for the server: later the message is worth nothing.
const TIMEOUT: Duration = Duration::from_secs(1);

impl Link {
    /// Publishes messages in one round trip. A failure is only logged: whoever listens also looks for itself.
    pub async fn publish_hints(&self, channel: &str, messages: impl IntoIterator<Item = impl Borrow<str>>) {
        let publish = |message: &str| {
            let mut publish = redis::cmd("PUBLISH");
            publish.arg(channel).arg(message);
            publish
        };
        let calls: Vec<Cmd> = messages.into_iter().map(|message| publish(message.borrow())).collect();
        if calls.is_empty() {
            return;
        }
        let replies = self.with_call_timeout(Some(TIMEOUT)).pipeline(&calls, Retry::Safe).await;
        let refused = |replies: Vec<crate::error::Result<_>>| replies.into_iter().find_map(Result::err);
        if let Some(error) = replies.map_or_else(Some, refused) {
            tracing::debug!(channel, %error, "could not publish");
        }
    }
}
