//! The hash fields of many jobs, in pipelines that are short for Redis and for the memory of this process.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::stream::{FuturesOrdered, StreamExt};
use redis::{Cmd, Value};

use super::ids::{Ids, Listed, PAGE};
use super::state::{self, States};
use crate::read::{Plan, Row};
use bullrush::connection::Retry;
use bullrush::error::{Error, Result};
use bullrush::protocol::reply;
use bullrush::queue::QueueHandle;

/// Commands of one pipeline. Redis serves other clients after each 16 kB of commands.
const MOST_COMMANDS: usize = 500;
/// Of the first pipeline, when the size of the jobs is not known yet.
const FIRST_COMMANDS: usize = 16;
/// Bytes of all replies of a pipeline.
const PIPELINE_BYTES: usize = 1 << 20;
/// While one pipeline is read, Redis works on the next one.
const IN_FLIGHT: usize = 2;
/// Bytes of one batch of rows.
const BATCH_BYTES: usize = 16 << 20;

/// Jobs that are being read, one batch of rows after another.
pub struct Reading {
    queue: Arc<QueueHandle>,
    plan: Arc<Plan>,
    ids: Ids,
    states: States,
    skip_removed: bool,
    listed: VecDeque<Listed>,
    /// Bytes of the replies of one job, as seen lately.
    job_bytes: Option<usize>,
}

/// Some rows, and how many of the ids had no job any more.
#[derive(Debug)]
pub struct Rows {
    pub rows: Vec<Row>,
    pub removed: usize,
}

impl Reading {
    pub(super) fn new(queue: Arc<QueueHandle>, plan: Arc<Plan>, skip_removed: bool, ids: Ids, states: States) -> Self {
        Self { queue, plan, ids, states, skip_removed, listed: VecDeque::new(), job_bytes: None }
    }

    /// Reads the next rows: of 5,000 ids, or fewer if they are large. `None` at the end.
    ///
    /// # Errors
    /// What [`bullrush::connection::Link::call`] returns.
    pub async fn next(&mut self) -> Result<Option<Rows>> {
        self.queue.ready().await?;
        while self.listed.is_empty() {
            let page = self.ids.next(self.queue.bulk()).await?;
            if page.is_empty() && self.ids.have_ended() {
                return Ok(None);
            }
            self.listed.extend(page);
        }
        let mut rows = self.fetch().await?;
        let removed = rows.iter().filter(|(row, _)| row.is_missing()).count();
        if self.skip_removed {
            rows.retain(|(row, _)| !row.is_missing());
        }
        if self.plan.has_state() {
            self.states.set(&self.queue, &self.plan, &mut rows).await?;
        }
        Ok(Some(Rows { rows: rows.into_iter().map(|(row, _)| row).collect(), removed }))
    }

    async fn fetch(&mut self) -> Result<Vec<(Row, Option<f64>)>> {
        let (mut rows, mut bytes) = (Vec::with_capacity(self.listed.len().min(PAGE)), 0);
        let mut flying = FuturesOrdered::new();
        loop {
            let (commands, in_flight) = match self.job_bytes {
                None => (FIRST_COMMANDS, 1),
                Some(job) => ((PIPELINE_BYTES / job.max(1)).clamp(1, MOST_COMMANDS), IN_FLIGHT),
            };
            while flying.len() < in_flight && !self.listed.is_empty() && bytes < BATCH_BYTES {
                let part: Vec<Listed> = self.listed.drain(..commands.min(self.listed.len())).collect();
                flying.push_back(read(self.queue.clone(), self.plan.clone(), self.states.fields(&self.plan), part));
            }
            let Some(part) = flying.next().await else { return Ok(rows) };
            let part = part?;
            let size: usize = part.iter().flat_map(|(row, _)| &row.values).map(size).sum();
            self.job_bytes = Some(size.div_ceil(part.len().max(1)));
            bytes += size;
            rows.extend(part);
        }
    }
}

async fn read(
    queue: Arc<QueueHandle>,
    plan: Arc<Plan>,
    fields: usize,
    part: Vec<Listed>,
) -> Result<Vec<(Row, Option<f64>)>> {
    let fields = &plan.fields()[..fields];
    let commands = commands(queue.keys().base(), &part, fields);
    let replies = queue.bulk().pipeline(&commands, Retry::Look).await?;
    let mut rows = Vec::with_capacity(part.len());
    for (Listed { id, score }, reply) in part.into_iter().zip(replies) {
        let row = match reply {
            Ok(reply) => Row { id, state: "", values: reply::exactly(fields.len(), reply)? },
            // Its key holds something else: nothing is known of such a job.
            Err(Error::Server { code, .. }) if code == "WRONGTYPE" => {
                Row { id, state: state::UNKNOWN, values: Vec::new() }
            }
            Err(error) => return Err(error),
        };
        rows.push((row, score));
    }
    Ok(rows)
}

fn commands(base: &str, part: &[Listed], fields: &[&str]) -> Vec<Cmd> {
    let mut key = base.as_bytes().to_vec();
    let names: usize = fields.iter().map(|field| field.len()).sum();
    let read = |listed: &Listed| {
        key.truncate(base.len());
        key.extend_from_slice(&listed.id);
        // With its size it is made in two allocations instead of ten, which is a part of the time of each job.
        let mut command = Cmd::with_capacity(2 + fields.len(), "HMGET".len() + key.len() + names);
        command.arg("HMGET").arg(&key).arg(fields);
        command
    };
    part.iter().map(read).collect()
}

fn size(value: &Value) -> usize {
    match value {
        Value::BulkString(bytes) => bytes.len(),
        _ => 0,
    }
}
