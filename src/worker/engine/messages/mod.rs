//! What a worker does with the messages of other programs. Nothing depends on them: a worker also looks for itself,
//! later.

mod ownership;
mod wake_hints;

pub use ownership::watch_ownership;
pub use wake_hints::watch_wake_hints;
