//! Commands about keys of a slot that migrates: another node has these keys already, and takes commands that begin with
//! ASKING.

use std::sync::atomic::Ordering;

use redis::{Cmd, Pipeline, Value};

use super::call::Tries;
use super::connect_error::ConnectError;
use super::fault::Fault;
use super::redirect::Redirect;
use super::setup::Greeting;
use super::wire::{NoReply, Wire};
use super::{Link, Retry};
use crate::error::{Error, Result};

impl Link {
    /// Runs commands once at the node that their slot migrates to, on a connection of its own: that is rare. Returns
    /// what it says about each, or [`Fault::Busy`] if it could not be asked.
    ///
    /// # Errors
    /// [`Error::OutcomeUnknown`] and [`Error::ConnectionLost`], as [`Link::call`].
    pub(super) async fn ask(
        &self,
        to: &Redirect,
        cmds: &[&Cmd],
        tries: &mut Tries<'_>,
    ) -> Result<Vec<std::result::Result<Value, Fault>>> {
        self.shared.redirected.fetch_add(1, Ordering::Relaxed);
        let endpoint = &self.shared.endpoint;
        let mut pipeline = Pipeline::with_capacity(2 * cmds.len());
        for cmd in cmds {
            pipeline.cmd("ASKING").add_command((*cmd).clone());
        }
        let asked = async {
            let Some(node) = &to.node else { return Err(NoReply::NotSent("its address is not known".into())) };
            let connected = Wire::connect_to(node, endpoint, Greeting::default(), 0).await;
            let (wire, _) = connected.map_err(|error| match error {
                ConnectError::Retry(reason) => NoReply::NotSent(reason),
                ConnectError::Fatal(error) => NoReply::NotSent(error.to_string()),
            })?;
            wire.send_all(&pipeline, 2 * cmds.len()).await
        };
        let reason = match self.in_time(tries, asked).await {
            Ok(replies) => {
                return Ok(replies.into_iter().skip(1).step_by(2).map(|reply| endpoint.inspect(reply)).collect())
            }
            Err(NoReply::Late) => return Err(self.too_late(tries.retry)),
            Err(NoReply::NotSent(reason)) => reason,
            Err(sent) if matches!(tries.retry, Retry::Never | Retry::InOrder) => {
                return Err(self.unknown(&sent.into_reason()))
            }
            Err(sent) => {
                tries.may_be_executed();
                sent.into_reason()
            }
        };
        let busy = || Fault::Busy(Error::ConnectionLost(format!("the slot of the queue migrates ({reason})")));
        Ok(cmds.iter().map(|_| Err(busy())).collect())
    }
}
