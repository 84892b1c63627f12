//! Waiting for a server whose memory is full.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::{Error, Result};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Sends calls again that Redis refused for want of memory. A script that is refused so has changed nothing.
#[derive(Debug, Default)]
pub struct OomWait(AtomicBool);

impl OomWait {
    /// Whether a call waits now, or has waited since [`OomWait::forget`].
    #[must_use]
    pub fn has_waited(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn forget(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Runs `call`; with oom_wait again and again while the memory of the server is full.
///
/// # Errors
/// What `call` returns, except `OOM` with oom_wait.
pub(super) async fn wait_for_memory<T, F>(oom_wait: Option<&OomWait>, mut call: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        let result = call().await;
        let full = matches!(&result, Err(Error::Server { code, .. }) if code == "OOM");
        let (true, Some(oom_wait)) = (full, oom_wait) else { return result };
        oom_wait.0.store(true, Ordering::Relaxed);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
