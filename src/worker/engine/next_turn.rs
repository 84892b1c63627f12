//! Whose turn it is to fetch: which lanes may, and which tier comes first. `lanes/turns.rs` divides the turns among
//! these.

use super::lane_state::LaneState;
use super::Engine;

impl Engine {
    /// The lane whose turn it is to fetch, if any lane that may fetch can have jobs. It has then taken its turn.
    pub(super) fn next_turn(&mut self) -> Option<usize> {
        // While jobs leave, a lane may fetch for their slots.
        let may_fetch = |state: &LaneState| if state.leaving > 0 { state.is_open() } else { state.may_grow() };
        let may_have_jobs = |state: &LaneState| !state.hint.is_idle() && may_fetch(state);
        if !self.has_several_lanes() {
            return self.lanes.states.first().filter(|state| may_have_jobs(state)).map(|_| 0);
        }
        self.look_again_if_due();
        if let Some(position) = self.lanes.alone.filter(|position| self.lanes.states[*position].is_open()) {
            return Some(position);
        }
        let waiting = self.lanes.states.iter().enumerate().filter(|(_, state)| may_have_jobs(state));
        let mut waiting: Vec<_> = waiting.map(|(position, state)| (position, state.lane.weight)).collect();
        if self.state.options.strict {
            let first = waiting.iter().map(|(position, _)| self.lanes.states[*position].lane.tier).min();
            waiting.retain(|(position, _)| Some(self.lanes.states[*position].lane.tier) == first);
        }
        let stays = |position: usize| {
            self.lanes.states.get(position).is_some_and(|state| !state.hint.is_idle() || state.share.is_full())
        };
        self.lanes.turns.next(&waiting, stays)
    }
}
