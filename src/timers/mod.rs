//! What ticks off the GIL.

pub mod lock_extender;
pub mod stalled_checker;
