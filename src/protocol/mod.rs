//! The data of the BullMQ protocol: keys, job hash, options, replies, backoff and cron; and of routing. No I/O.

pub mod backoff;
pub mod batch;
mod channel;
pub mod cron;
mod cron_field;
pub mod due;
pub mod filter;
pub mod job;
pub mod key_table;
pub mod keys;
pub mod options;
mod packed;
pub mod reply;
pub mod route;
pub mod schedule;
mod tier;

pub use batch::{JobBatch, NewJob};
pub use channel::Channel;
pub use job::JobRecord;
pub use keys::Keys;
pub use options::{JobOptions, Keep};
pub use tier::Tier;
