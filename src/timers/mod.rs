//! What ticks off the GIL.

pub mod lock_extender;
pub mod scheduler_watchdog;
pub mod stalled_checker;
