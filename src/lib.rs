//! A job queue that speaks the BullMQ wire protocol. The floors, bottom-up:

pub mod error;
pub mod protocol;
pub mod connection;
pub mod scripts;
pub mod queue;
