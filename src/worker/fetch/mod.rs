//! Takes jobs out of Redis.

mod fetcher;
mod marker_waiter;
mod request;
mod starts;

pub use fetcher::Fetcher;
pub use marker_waiter::MarkerWaiter;
pub use request::{fetch_plan, FetchRequest, FetchedBatch, Room, SentFetch};
pub use starts::stamp_jobs;
