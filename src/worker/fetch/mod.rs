//! Takes jobs out of Redis.

mod dropped;
mod fetcher;
mod marker_waiter;
mod fetch_hint;
mod late;
mod request;
mod share;
mod starts;

pub use dropped::dropped_text;
pub use fetch_hint::FetchHint;
pub use fetcher::{fetch, fetch_by, Fetcher, MAX_BREAKS};
pub use late::LateFetches;
pub use marker_waiter::{Marker, MarkerWaiter, Popped, Watch};
pub use request::{fetch_plan, FetchRequest, FetchedBatch, Room, SentFetch};
pub use share::Share;
pub use starts::stamp_jobs;
