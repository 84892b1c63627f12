//! The worker engine: fetch, hand out, finish, all off the GIL.

mod appetite;
mod backlog;
mod cancellations;
mod deadlines;
mod engine;
pub mod event;
pub mod fetcher;
mod finisher;
mod flights;
pub mod handout;
pub mod held;
mod intake;
pub mod manual;
mod marker_waiter;
pub mod options;
pub mod outcome;
mod scheduler;
mod settlement;
pub mod shared;
mod tasks;
pub mod witness;

pub use engine::start;
