//! Wakes an asyncio loop when operations finish.

use std::sync::Arc;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use bullrush::mutex::Mutex;
use bullrush::wakeup::Wakeup;

pub struct Ready {
    tokens: Mutex<Vec<u64>>,
    wakeup: Wakeup,
}

impl Ready {
    pub fn push(&self, token: u64) {
        self.tokens.lock().push(token);
        self.wakeup.wake();
    }
}

#[pyclass(frozen, module = "bullrush._core")]
pub struct Completions(pub Arc<Ready>);

#[pymethods]
impl Completions {
    #[new]
    fn new() -> PyResult<Self> {
        let wakeup = Wakeup::new().map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(Self(Arc::new(Ready { tokens: Mutex::default(), wakeup })))
    }

    fn fileno(&self) -> i32 {
        self.0.wakeup.fileno()
    }

    fn drain(&self) -> Vec<u64> {
        self.0.wakeup.clear();
        std::mem::take(&mut *self.0.tokens.lock())
    }
}
