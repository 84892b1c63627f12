//! The lanes of the engine.

use super::lane_state::LaneState;
use crate::worker::lanes::Turns;

/// The lanes that the engine serves, and whose turn it is.
#[derive(Default)]
pub struct Lanes {
    pub states: Vec<LaneState>,
    pub turns: Turns,
    /// The lane whose next job must run alone: it has the next turn.
    pub alone: Option<usize>,
    /// How many jobs of all lanes are in hand.
    pub in_hand: usize,
    /// The changes of the worker's lanes that this engine has seen.
    pub changes: Option<usize>,
    /// Lanes that nobody uses any more are not closed yet.
    pub closes: bool,
}
