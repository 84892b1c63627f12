//! The event stream of a queue: read once per handle, told to all who listen or wait.

mod feed;
mod reader;
mod recent;

pub use feed::{Feed, Listening, News};
pub use reader::{Entry, Reader};
pub use recent::JobEnd;
