//! Waiting for a server whose memory is full.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::{Error, Result};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Sends calls again that Redis refused for want of memory. A script that is refused so has changed nothing.
#[derive(Debug, Default)]
pub struct Patience(AtomicBool);

impl Patience {
    /// Whether a call waits now, or has waited since [`Patience::forget`].
    #[must_use]
    pub fn has_waited(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn forget(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Runs `call`; with patience again and again while the memory of the server is full.
///
/// # Errors
/// What `call` returns, except `OOM` with patience.
pub(super) async fn patiently<T, F>(patience: Option<&Patience>, mut call: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        let result = call().await;
        let full = matches!(&result, Err(Error::Server { code, .. }) if code == "OOM");
        let (true, Some(patience)) = (full, patience) else { return result };
        patience.0.store(true, Ordering::Relaxed);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
