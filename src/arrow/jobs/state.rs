//! The states of jobs that were read: what their fields say, not what a list said before.

use redis::Value;

use crate::read::{Plan, Row};
use bullrush::connection::Retry;
use bullrush::error::Result;
use bullrush::protocol::{job, reply};
use bullrush::queue::QueueHandle;
use bullrush::reads::command;

/// Of an id without a job.
const REMOVED: &str = "removed";
/// Of an id whose key is no hash.
pub(super) const UNKNOWN: &str = "unknown";
/// The sorted sets of states. Jobs in none of them, and not active, wait.
const SETS: [&str; 5] = ["completed", "failed", "delayed", "prioritized", "waiting-children"];
/// How many active jobs are looked through.
const MOST_ACTIVE: i64 = 9_999;

/// How the states of jobs are found.
#[derive(Clone, Copy, Debug)]
pub(super) enum States {
    /// By their fields.
    Read,
    /// The ids come from this state, and a finished job with its score.
    Listed(&'static str),
}

impl States {
    /// How many of the plan's fields are needed: the last one tells completed jobs from failed ones.
    pub fn fields(self, plan: &Plan) -> usize {
        plan.fields().len() - usize::from(plan.last_is_for_state() && matches!(self, States::Listed(_)))
    }

    pub async fn set(self, queue: &QueueHandle, plan: &Plan, rows: &mut [(Row, Option<f64>)]) -> Result<()> {
        let mut unknown = Vec::new();
        for (at, (row, score)) in rows.iter_mut().enumerate().filter(|(_, (row, _))| row.state.is_empty()) {
            match self.of(plan, row, *score) {
                Some(state) => row.state = state,
                None => unknown.push(at),
            }
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let ids: Vec<&[u8]> = unknown.iter().map(|&at| &*rows[at].0.id).collect();
        let states = look_up(queue, &ids).await?;
        for (at, state) in unknown.into_iter().zip(states) {
            rows[at].0.state = state;
        }
        Ok(())
    }

    fn of(self, plan: &Plan, row: &Row, score: Option<f64>) -> Option<&'static str> {
        if row.is_missing() {
            return Some(REMOVED);
        }
        let value = |field: &str| plan.position(field).and_then(|at| row.get(at));
        match (value("finishedOn").map(job::number), self) {
            #[expect(clippy::cast_precision_loss, reason = "times are far below 2^53")]
            (Some(at), States::Listed(state @ ("completed" | "failed"))) if score == Some(at as f64) => Some(state),
            (Some(_), States::Read) if value("returnvalue").is_some() => Some("completed"),
            (Some(_), States::Read) => Some("failed"),
            (None, States::Listed(state)) if !matches!(state, "completed" | "failed") => Some(state),
            _ => None,
        }
    }
}

/// Finds the states of jobs that have moved, or that are not finished.
async fn look_up(queue: &QueueHandle, ids: &[&[u8]]) -> Result<Vec<&'static str>> {
    let active = redis::cmd("LRANGE").arg(queue.keys().of("active")).arg(0).arg(MOST_ACTIVE).clone();
    let active = reply::array(queue.bulk().call(active, Retry::Look).await?)?;
    let active = active.into_iter().map(reply::bytes).collect::<Result<std::collections::HashSet<_>>>()?;
    let mut states = Vec::with_capacity(ids.len());
    for ids in ids.chunks(100) {
        let mut commands = Vec::with_capacity(ids.len() * SETS.len());
        for id in ids {
            commands.extend(SETS.map(|set| command("ZSCORE", &[queue.keys().of(set).as_bytes(), id])));
        }
        let scores =
            queue.bulk().pipeline(&commands, Retry::Look).await?.into_iter().collect::<Result<Vec<Value>>>()?;
        for (id, scores) in ids.iter().zip(scores.chunks(SETS.len())) {
            let set = scores.iter().position(|score| *score != Value::Nil);
            let otherwise = if active.contains(*id) { "active" } else { "waiting" };
            states.push(set.map_or(otherwise, |at| SETS[at]));
        }
    }
    Ok(states)
}
