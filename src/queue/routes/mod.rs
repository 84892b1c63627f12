//! The routes of a queue: what waits in them, and what becomes of jobs that no worker takes.

mod fallback;
mod status;

pub use fallback::{fall_back, leads_back, Rerouted, BATCH};
pub use status::{route_status, RouteStatus};
