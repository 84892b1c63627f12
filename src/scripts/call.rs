//! A script call: built once, sent as often as needed.

use redis::{Cmd, ToRedisArgs, Value};

use super::Script;
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::Keys;

/// `EVALSHA <sha> 1 <meta key> <arguments>`, written straight into the command's buffer.
#[derive(Clone)]
pub struct Call {
    script: &'static Script,
    cmd: Cmd,
}

impl Call {
    #[must_use]
    pub fn new(script: &'static Script, keys: &Keys) -> Self {
        Self::with_capacity(script, keys, 8, 256)
    }

    /// Reserves room for `args` arguments of `bytes` bytes in all.
    #[must_use]
    pub fn with_capacity(script: &'static Script, keys: &Keys, args: usize, bytes: usize) -> Self {
        let mut cmd = Cmd::with_capacity(args + 4, bytes + keys.meta().len() + 64);
        cmd.arg("EVALSHA").arg(script.sha).arg(1).arg(keys.meta());
        Call { script, cmd }
    }

    /// Appends one argument.
    pub fn arg(&mut self, value: impl ToRedisArgs) -> &mut Self {
        self.cmd.arg(value);
        self
    }

    /// Appends an argument that is "" when absent.
    pub fn optional(&mut self, value: Option<impl ToRedisArgs>) -> &mut Self {
        match value {
            Some(value) => self.arg(value),
            None => self.arg(""),
        }
    }

    fn load(&self) -> Cmd {
        let mut load = redis::cmd("SCRIPT");
        load.arg("LOAD").arg(self.script.source);
        load
    }

    #[must_use]
    pub fn script(&self) -> &'static Script {
        self.script
    }
}

fn is_missing_script(error: &Error) -> bool {
    matches!(error, Error::Server { code, .. } if code == "NOSCRIPT")
}

/// Whoever may not load a script is told so, and not that it is missing.
fn after_loading(reply: Result<Value>, load: Option<&Result<Value>>) -> Result<Value> {
    match (&reply, load) {
        (Err(error), Some(Err(refusal))) if is_missing_script(error) => Err(refusal.clone()),
        _ => reply,
    }
}

/// How often a script is loaded for one call: a flush may come between loading and calling, too.
const LOADS: usize = 10;

/// Runs a script; loads it first if the server does not have it (any more).
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn eval(link: &Link, call: &Call, retry: Retry) -> Result<Value> {
    let mut reply = link.call(&call.cmd, retry).await;
    for _ in 0..LOADS {
        if !reply.as_ref().is_err_and(is_missing_script) {
            break;
        }
        let mut replies = link.pipeline(&[call.load(), call.cmd.clone()], retry).await?;
        reply = replies.pop().unwrap_or(Err(Error::Closed));
        reply = after_loading(reply, replies.first());
    }
    reply
}

/// Runs many calls in one pipeline; only those that met a missing script are run again, after loading it.
///
/// # Errors
/// What [`Link::pipeline`] returns; each call has its own result besides.
pub async fn eval_many(link: &Link, calls: &[Call], retry: Retry) -> Result<Vec<Result<Value>>> {
    let commands: Vec<&Cmd> = calls.iter().map(|call| &call.cmd).collect();
    let mut replies = link.pipeline(&commands, retry).await?;
    for _ in 0..LOADS {
        let missing = |slot: &usize| replies[*slot].as_ref().is_err_and(is_missing_script);
        let again: Vec<usize> = (0..calls.len()).filter(missing).collect();
        if again.is_empty() {
            break;
        }
        let mut loaded: Vec<&str> = Vec::new();
        let mut commands: Vec<Cmd> = Vec::with_capacity(again.len() + 1);
        for call in again.iter().map(|&slot| &calls[slot]) {
            if !loaded.contains(&call.script.sha) {
                loaded.push(call.script.sha);
                commands.push(call.load());
            }
        }
        let loads = loaded.len();
        commands.extend(again.iter().map(|&slot| calls[slot].cmd.clone()));
        let mut rerun = link.pipeline(&commands, retry).await?;
        let ran = rerun.split_off(loads.min(rerun.len()));
        for (slot, reply) in again.into_iter().zip(ran) {
            let load = loaded.iter().position(|sha| *sha == calls[slot].script.sha);
            replies[slot] = after_loading(reply, load.and_then(|load| rerun.get(load)));
        }
    }
    Ok(replies)
}
