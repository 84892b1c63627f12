//! Reads many jobs at once, for tables of jobs: ids by place, by time or as given, then the fields of their hashes.

mod ids;
mod rows;
mod state;

use std::sync::Arc;

pub use rows::{Reading, Rows};

use crate::read::Plan;
use bullrush::error::{Error, Result};
use bullrush::protocol::due;
use bullrush::queue::QueueHandle;
use ids::{Ids, Scores};
use state::States;

const LONGEST_RUN: usize = 64;

/// Reads the jobs of a queue with the columns of one plan.
pub struct Reader {
    queue: Arc<QueueHandle>,
    plan: Arc<Plan>,
    skip_removed: bool,
}

impl Reader {
    /// `skip_removed`: ids without a job give no row.
    #[must_use]
    pub fn new(queue: Arc<QueueHandle>, plan: Arc<Plan>, skip_removed: bool) -> Self {
        Self { queue, plan, skip_removed }
    }

    /// The jobs that the workers of a run finished, by their place in the list of that run: `start <= place < stop`.
    ///
    /// # Errors
    /// `InvalidOption` when it is no name of a run, or a place is negative.
    pub fn run(&self, run: &str, start: i64, stop: Option<i64>) -> Result<Reading> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if run.is_empty() || run.len() > LONGEST_RUN || !run.bytes().all(is_name) {
            return Err(Error::InvalidOption(format!(
                "A run is named by 1 to {LONGEST_RUN} letters, digits, _ and -, not {run:?}"
            )));
        }
        let (next, stop) = places(start, stop)?;
        Ok(self.reading(Ids::List { key: self.queue.keys().run(run), next, stop }, States::Read))
    }

    /// The jobs of a state by their place in its list or sorted set: `start <= place < stop`.
    ///
    /// # Errors
    /// `InvalidOption` when there is no such state, or a place is negative.
    pub fn ranks(&self, state: &str, start: i64, stop: Option<i64>) -> Result<Reading> {
        let (next, stop) = places(start, stop)?;
        let (key, state, is_list) = place(state)?;
        let key = self.queue.keys().of(key);
        let ids = if is_list { Ids::List { key, next, stop } } else { Ids::Ranks { key, next, stop } };
        Ok(self.reading(ids, States::Listed(state)))
    }

    /// Finished jobs by the time of their end, and delayed ones by the time when they are due: `after < time <= until`,
    /// in ms.
    ///
    /// # Errors
    /// `InvalidOption` when the state has no times.
    #[expect(clippy::cast_precision_loss, reason = "times are far below 2^53")]
    pub fn scores(&self, state: &str, after: Option<i64>, until: Option<i64>) -> Result<Reading> {
        let (key, state, _) = place(state)?;
        let (after, until) = match state {
            "completed" | "failed" => (after.map(|ms| ms as f64), until.map(|ms| ms as f64)),
            // The score of a delayed job also has its place among those of the same ms.
            "delayed" => {
                let last = |ms: i64| due::last_score(ms) as f64;
                (after.map(last), until.map(last))
            }
            other => {
                let text = format!("Jobs in state {other} have no time; completed, failed and delayed ones have");
                return Err(Error::InvalidOption(text));
            }
        };
        let scores = Scores::new(self.queue.keys().of(key), after, until);
        Ok(self.reading(Ids::Scores(scores), States::Listed(state)))
    }

    /// The jobs with these ids, in this order.
    #[must_use]
    pub fn jobs(&self, ids: Vec<String>) -> Reading {
        self.reading(Ids::Given(ids.into_iter()), States::Read)
    }

    fn reading(&self, ids: Ids, states: States) -> Reading {
        Reading::new(self.queue.clone(), self.plan.clone(), self.skip_removed, ids, states)
    }
}

fn places(start: i64, stop: Option<i64>) -> Result<(i64, i64)> {
    match (start, stop.unwrap_or(i64::MAX)) {
        (start @ 0.., stop @ 0..) => Ok((start, stop)),
        _ => Err(Error::InvalidOption("Places count from 0; a negative one has no meaning here".to_owned())),
    }
}

/// The key of a state, the name of the state, and whether the key is a list.
fn place(state: &str) -> Result<(&'static str, &'static str, bool)> {
    Ok(match state {
        "waiting" | "wait" => ("wait", "waiting", true),
        "paused" => ("paused", "paused", true),
        "active" => ("active", "active", true),
        "delayed" => ("delayed", "delayed", false),
        "prioritized" => ("prioritized", "prioritized", false),
        "waiting-children" => ("waiting-children", "waiting-children", false),
        "completed" => ("completed", "completed", false),
        "failed" => ("failed", "failed", false),
        other => {
            return Err(Error::InvalidOption(format!(
            "There is no state {other:?}; there are waiting, paused, active, delayed, prioritized, waiting-children, \
                 completed and failed"
        )))
        }
    })
}
