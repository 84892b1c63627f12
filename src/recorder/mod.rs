//! What a history is written from: the events of many queues, read as soon as they come, without their payloads.
//!
//! The times of attempts are nowhere but in the event streams, which servers cut off at about 10,000 entries. So what
//! was missed is missed: a reader can only say where that may be.

mod budget;
mod event;
mod reader;
mod stream;

pub use budget::{in_sample, Budget};
pub use event::{Event, Kind, Minute};
pub use reader::{Batch, Followed, Reader, Seen};
pub use stream::Gap;
