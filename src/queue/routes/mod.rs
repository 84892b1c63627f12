//! The routes of a queue: which there are, what waits in them, and what becomes of jobs that no worker takes.

mod fallback;
mod registry;
mod status;

pub use fallback::{fall_back, leads_back, Rerouted, BATCH};
pub use registry::{count_in_routes, register, retire, revive, routes, Listed};
pub use status::{route_status, RouteStatus};
