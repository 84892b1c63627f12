//! Hands the outcomes of jobs in to Redis.

mod confirm;
mod ended_job;
mod finisher;
mod in_flight;
mod moves;
mod plan;
mod settled;

pub use confirm::{has_left, is_finished, is_retried};
pub use ended_job::{needs_strategy, EndedJob, Ending, Failed};
pub use finisher::{Finisher, NextFetch};
pub use in_flight::{CompletedCall, InFlight};
pub use settled::{Settled, Settlement};
