//! Routing: which worker may run a job. A target says what a job needs, a profile what a worker has. The jobs of one
//! target wait in a queue of their own, the route `<base>~<slug>`.

mod entry;
mod matching;
mod names;
mod profile;
mod target;
mod token;

pub use entry::{Fallback, NewFallback, RouteEntry};
pub use names::{queue_of, split_name};
pub use profile::Profile;
pub use target::{Mode, Target};
