//! The queues that a worker serves: one lane each. A worker of a single queue has one lane.
//!
//! A task that learns of another queue calls [`WorkerState::offer_lane`](super::state::WorkerState::offer_lane). The
//! engine opens the lane in its next turn and looks for jobs there at once. A lane stays open until the worker ends, or
//! until [`WorkerState::withdraw_lane`](super::state::WorkerState::withdraw_lane) says that its queue is a route that
//! has retired.

mod lane;
mod open_lanes;
mod rate_limit;
mod spec;
mod turns;

pub use lane::Lane;
pub use open_lanes::Lanes;
pub use spec::LaneSpec;
pub use turns::Turns;
