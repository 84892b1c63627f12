//! Writes that need no script: one plain command each, or two of which the second makes the first one count. A file per
//! subject.

pub mod attempt;
pub mod batches;
pub mod control;
pub mod cron;
pub mod limits;
