//! The event stream of a queue: read once per handle, for all who listen to events or wait for a job.

mod feed;
mod history;
mod listening;
mod owned_feed;
mod reader;
mod recent;
mod state;
mod waiting;

pub use feed::Feed;
pub use history::{ends, entries_between};
pub use listening::Listening;
pub use owned_feed::{OwnedFeed, SharedFeeds};
pub use reader::{entry_values, place, Entry, Reader, BEGINNING};
pub use recent::JobEnd;
pub use state::Message;
