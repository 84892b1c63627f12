//! What a history is written from: the events of many queues, read as soon as they come, without their payloads.
//!
//! The times of attempts are nowhere but in the event streams, which servers cut off at about 10,000 entries. So what
//! was missed is missed: a reader can only say where that may be. It does not wait for who takes what it has read.

mod event;
mod kept;
mod memory;
mod reader;
mod sample;
mod seen;
mod server;
mod stream;

pub use event::{Event, Kind, Minute};
pub use reader::{Followed, Reader};
pub use sample::in_sample;
pub use seen::{Batch, Seen};
pub use stream::Gap;
