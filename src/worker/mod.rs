//! A worker: fetches jobs, passes them to handlers and finishes them, all without the GIL.

pub mod admission;
mod engine;
pub mod fetch;
mod finish;
pub mod held;
mod isolation;
pub mod lanes;
mod limits;
pub mod listeners;
pub mod manual;
pub mod options;
pub mod outcome;
pub mod ready_queue;
mod results;
mod retry;
mod rights;
pub mod roster;
mod scheduler;
mod sleep;
pub mod state;

pub use engine::start;
pub use finish::needs_strategy;
