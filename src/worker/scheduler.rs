//! Keeps a job scheduler's chain going: its next iteration exists before this one runs.

use std::sync::Arc;

use super::held::HeldJob;
use super::shared::Shared;
use crate::connection::Link;
use crate::protocol::Keys;

pub async fn produce_next(shared: Arc<Shared>, _link: Link, _keys: Keys, job: Arc<HeldJob>) {
    shared.handout.push([job]);
}
