//! A job queue that speaks the BullMQ wire protocol. The floors, bottom-up:

pub mod error_codes;
pub mod error;
pub mod clock;
pub mod mutex;
pub mod error_once;
pub mod heartbeat;
pub mod histogram;
pub mod spin_wait;
pub mod wakeup;
pub mod protocol;
pub mod connection;
pub mod scripts;
pub mod reads;
pub mod writes;
pub mod queue;
pub mod events;
pub mod recorder;
pub mod timers;
pub mod worker;
