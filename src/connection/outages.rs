//! ConnectionOutages of one link, with their causes.

use tokio::sync::watch;

use super::{Link, LinkState};

/// Reports each outage once.
pub struct ConnectionOutages {
    states: watch::Receiver<LinkState>,
    down: bool,
}

impl ConnectionOutages {
    /// Does not ask for a connection: a link that nobody uses has no outage.
    #[must_use]
    pub fn of(link: &Link) -> Self {
        ConnectionOutages { states: link.watch(), down: false }
    }

    /// Waits for the next outage, or for the present one if it was not reported yet, and returns its cause; `None` once
    /// the link is closed.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            match &*self.states.borrow_and_update() {
                LinkState::Closed => return None,
                LinkState::Connected { refuses, .. } => self.down &= *refuses,
                LinkState::Connecting { error: Some(cause), .. } if !self.down => {
                    self.down = true;
                    return Some(cause.clone());
                }
                LinkState::Connecting { .. } => {}
            }
            self.states.changed().await.ok()?;
        }
    }
}
