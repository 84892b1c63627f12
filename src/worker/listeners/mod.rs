//! What a worker tells its listeners.

mod backlog;
mod details;
mod event;

pub use backlog::Backlog;
pub use details::{Details, DetailsByJob};
pub use event::Event;
