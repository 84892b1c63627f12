//! One queue: checks at first use, adding jobs, getters and settings.

mod add;
mod adder;
mod adding;
mod checks;
mod coalescer;
mod durability;
mod getters;
mod handle;
pub mod legacy;
mod linked;
mod registration;
pub mod rights;
pub mod routes;
pub mod schedulers;
pub mod search;
mod settings;
mod sweep;

pub use crate::scripts::OomWait;
pub use adder::{AddedJobs, Adder};
pub use checks::{Compat, VERSION};
pub use coalescer::OnDone;
pub use durability::Durable;
pub use handle::{QueueHandle, QueueOptions};
pub use registration::Registration;
pub use settings::{evicting_policy, ignored_settings};
