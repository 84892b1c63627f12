//! The queue for results: the option `results_queue`.

use super::options::WorkerOptions;
use crate::connection::Link;
use crate::error::{Error, Result};
use crate::protocol::Keys;
use crate::queue::{QueueHandle, QueueOptions};

/// The queue to which a worker adds outcomes, to be checked before the first one.
pub struct Results(QueueHandle);

impl Results {
    /// `None` if the worker has no such queue.
    ///
    /// # Errors
    /// [`Error::QueueName`].
    pub fn new(link: &Link, keys: &Keys, options: &WorkerOptions) -> Result<Option<Self>> {
        let Some(name) = &options.results_queue else { return Ok(None) };
        let keys = Keys::new(keys.prefix(), name)?;
        let allow_legacy = options.allow_legacy;
        let options = QueueOptions { skip_metas_update: true, allow_legacy, ..QueueOptions::default() };
        Ok(Some(Self(QueueHandle::new(link.clone(), link.clone(), keys, options))))
    }

    /// Check that jobs can be added there by the script that finishes jobs of `keys`. Does nothing after the first
    /// success.
    ///
    /// # Errors
    /// See [`QueueHandle::ready`]; [`Error::QueueName`] if a cluster has the two queues in different slots.
    pub async fn ready(&self, keys: &Keys) -> Result<()> {
        self.0.ready().await?;
        let results = self.0.keys();
        if results.slot() == keys.slot() || !self.0.link().ready().await?.cluster {
            return Ok(());
        }
        let (prefix, name) = (keys.prefix(), results.name());
        Err(Error::QueueName(format!(
            "Redis runs as a cluster, so results_queue={name:?} must share the hash tag of queue {}: use prefix \
             \"{{{prefix}}}\" for both",
            keys.name()
        )))
    }
}
