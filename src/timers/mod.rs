//! What runs at intervals, without the GIL.

pub mod held_locks;
pub mod lock_extender;
pub mod proof_of_life;
pub mod route_keeper;
pub mod route_registry;
pub mod scheduler_watchdog;
pub mod stalled_checker;
