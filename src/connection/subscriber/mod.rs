//! Subscriptions: one connection per process and endpoint for all who listen.
//!
//! Messages are hints: a message may be lost, so nothing may depend on one. After each new subscription every listener
//! gets the notice that it may have missed some.

mod hints;
mod inbox;
mod reconnector;
mod listening;
mod registry;
mod shared;

pub use inbox::{Inbox, Notice};
pub(super) use listening::WeakSubscriber;
pub use listening::{First, Listening, Subscriber};
