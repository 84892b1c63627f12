//! News of one link: that it is down, and why.

use tokio::sync::watch;

use super::{Link, LinkState};

/// Tells of each time when there is no connection to be had, once until there is one again.
pub struct Outages {
    states: watch::Receiver<LinkState>,
    down: bool,
}

impl Outages {
    /// Does not ask for a connection: a link that nobody uses is not down.
    #[must_use]
    pub fn of(link: &Link) -> Self {
        Outages { states: link.watch(), down: false }
    }

    /// Waits for the next outage, also for one that has begun already, and returns its cause; `None` once the link is closed.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            match &*self.states.borrow_and_update() {
                LinkState::Closed => return None,
                LinkState::Connected { .. } => self.down = false,
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
