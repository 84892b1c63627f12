//! A script call: built once, sent as often as needed.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use redis::{Arg, Cmd, ToRedisArgs, Value};

use super::Script;
use crate::connection::{Link, MaybeSent, Proven, Retry};
use crate::error::{Error, Result};
use crate::error_codes::{self, Class};
use crate::protocol::{reply, Keys};

/// The end of a key of a queue that never exists.
const NEVER_THERE: &[u8] = b"ext:guard";

/// `EVALSHA <sha> 1 <meta key> <arguments>`, written straight into the command's buffer.
pub struct Call {
    script: &'static Script,
    pub(super) cmd: Cmd,
    /// What the reply ends with.
    number: Option<String>,
    pub(super) sent: MaybeSent,
}

impl Call {
    #[must_use]
    pub fn new(script: &'static Script, keys: &Keys) -> Self {
        Self::with_capacity(script, keys, 8, 256)
    }

    /// Reserves room for `args` arguments of `bytes` bytes in all.
    #[must_use]
    pub fn with_capacity(script: &'static Script, keys: &Keys, args: usize, bytes: usize) -> Self {
        Self::on_one_or_both(script, keys, None, args, bytes)
    }

    /// A call of a script that also touches another queue:
    /// `EVALSHA <sha> 2 <meta key> <meta key of the other> <arguments>`.
    #[must_use]
    pub fn on_both(script: &'static Script, keys: &Keys, other: &Keys) -> Self {
        Self::on_one_or_both(script, keys, Some(other), 8, 256)
    }

    /// A call of a script that touches another queue if there is one. See [`Call::with_capacity`] for the last two.
    #[must_use]
    pub fn on_one_or_both(
        script: &'static Script,
        keys: &Keys,
        other: Option<&Keys>,
        args: usize,
        bytes: usize,
    ) -> Self {
        let mut cmd = Cmd::with_capacity(args + 5, bytes + 2 * keys.meta().len() + 64);
        cmd.arg("EVALSHA").arg(script.sha());
        match other {
            None => cmd.arg(1).arg(keys.meta()),
            Some(other) => cmd.arg(2).arg(keys.meta()).arg(other.meta()),
        };
        Call { script, cmd, number: None, sent: MaybeSent::default() }
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

    /// Appends the word with which a script wakes a worker for each job that it makes ready; see
    /// `lua/include/queue/fan_out.lua`. Only a number follows it.
    pub fn fan_out(&mut self, wanted: bool) {
        if wanted {
            self.arg("fan_out");
        }
    }

    /// Appends a number with which the reply ends: it proves the reply, in place of a command of the link. It is the
    /// last argument; see `lua/include/calls/take_number.lua`.
    pub fn number(&mut self) {
        let number = format!("#{}", fastrand::u64(..));
        self.arg(&number);
        self.number = Some(number);
    }

    /// Takes the number off a reply.
    ///
    /// # Errors
    /// [`Error::WrongShape`] when it is not there: this is the reply to another call.
    pub(super) fn proven(&self, mut reply: Value) -> Result<Value> {
        let Some(number) = &self.number else { return Ok(reply) };
        let last = if let Value::Array(items) = &mut reply { items.pop() } else { None };
        match last {
            Some(Value::BulkString(last)) if last == number.as_bytes() => Ok(reply),
            _ => Err(Error::wrong_shape("a reply that ends with the number of its call")),
        }
    }

    /// What the caller gets when no further try follows. A call whose first try may have been executed does not fail
    /// with an error that says that nothing was done: the error is about its last try only.
    pub(super) fn judged<T>(&self, retry: Retry, result: Result<T>) -> Result<T> {
        match result {
            Err(error @ (Error::ConnectionLost(_) | Error::Server { .. } | Error::Closed))
                if matches!(retry, Retry::Safe | Retry::InOrder) && self.sent.is_set() =>
            {
                Err(error.after_a_lost_reply())
            }
            result => result,
        }
    }

    fn proof(&self) -> Proven {
        if self.number.is_some() {
            Proven::ByItself
        } else {
            Proven::Behind
        }
    }

    /// The command for this link. On a cluster its KEYS are the queue's `meta`, the `meta` of the other queue (or the
    /// same one again) and a key of the slot that never exists. While the slot migrates, some of these keys are missing
    /// on both nodes, so both answer TRYAGAIN before the script starts. Otherwise it would stop at the first key that
    /// is on the other node, after its writes.
    pub(super) fn for_link(&self, link: &Link) -> Cow<'_, Cmd> {
        match link.endpoint().is_cluster() {
            true => Cow::Owned(self.guarded()),
            false => Cow::Borrowed(&self.cmd),
        }
    }

    fn guarded(&self) -> Cmd {
        let given: Vec<&[u8]> =
            self.cmd.args_iter().map(|arg| if let Arg::Simple(bytes) = arg { bytes } else { &[] }).collect();
        let ([name, sha, count, meta], rest) = given.split_first_chunk().expect("a call has a key");
        let (other, arguments) = if *count == b"2" { rest.split_first().expect("it has two") } else { (meta, rest) };
        let base = meta.strip_suffix(b"meta").unwrap_or(meta);
        let mut cmd =
            Cmd::with_capacity(arguments.len() + 6, given.iter().map(|arg| arg.len()).sum::<usize>() + 3 * meta.len());
        cmd.arg(name).arg(sha).arg(3).arg(meta).arg(other).arg([base, NEVER_THERE].concat());
        for argument in arguments {
            cmd.arg(argument);
        }
        cmd
    }

    pub(super) fn load(&self) -> Cmd {
        let mut load = redis::cmd("SCRIPT");
        load.arg("LOAD").arg(self.script.source());
        load
    }

    #[must_use]
    pub fn script(&self) -> &'static Script {
        self.script
    }
}

/// Whether Redis does not have the script: NOSCRIPT.
pub(super) fn is_noscript(error: &Error) -> bool {
    matches!(error, Error::Server { code, .. } if error_codes::of(code).class == Class::Reload)
}

/// Checks the reply to the load of a script: a refusal of it is not the missing script. Replies that have changed
/// places show here.
fn check_load(reply: Option<Result<Value>>, script: &Script) -> Result<()> {
    match reply.unwrap_or(Err(Error::Closed))? {
        Value::BulkString(sha) if sha == script.sha().as_bytes() => Ok(()),
        _ => Err(Error::wrong_shape("the name of a script that was loaded")),
    }
}

/// How often a script is loaded for one call: another `SCRIPT FLUSH` may come between loading and calling.
const MAX_LOADS: usize = 10;

/// Runs a script, and reads its reply; loads it first if the server does not have it. After a reply that the script
/// cannot have given, a call that may be repeated is repeated once.
///
/// # Errors
/// What [`Link::call`] and `read` return.
pub async fn eval<T>(link: &Link, call: &Call, retry: Retry, read: impl Fn(Value) -> Result<T>) -> Result<T> {
    let result = eval_unjudged(link, call, retry, read).await;
    call.judged(retry, result)
}

/// As [`eval`], for a caller that may make the call again.
pub(super) async fn eval_unjudged<T>(
    link: &Link,
    call: &Call,
    retry: Retry,
    read: impl Fn(Value) -> Result<T>,
) -> Result<T> {
    let mut result = run(link, call, retry).await.and_then(&read);
    if retry != Retry::Never && matches!(result, Err(Error::WrongShape(_))) {
        let _ = link.believe(retry, result);
        call.sent.set();
        result = Box::pin(run(link, call, retry)).await.and_then(&read);
    }
    link.believe(retry, result)
}

/// As [`eval`]; returns the reply as it is, but for the number.
pub(super) async fn run(link: &Link, call: &Call, retry: Retry) -> Result<Value> {
    let Some(times) = link.times() else { return load_and_run(link, call, retry).await };
    let began = Instant::now();
    let reply = load_and_run(link, call, retry).await;
    if reply.is_ok() {
        times.note(call.script.name, began.elapsed());
    }
    reply
}

/// On NOSCRIPT it loads the script and calls it again.
async fn load_and_run(link: &Link, call: &Call, retry: Retry) -> Result<Value> {
    let cmd = call.for_link(link);
    let mut reply = link.call_proven(&*cmd, retry, call.proof(), &call.sent).await;
    for _ in 0..MAX_LOADS {
        if !reply.as_ref().is_err_and(is_noscript) {
            break;
        }
        let (load, cmd) = (call.load(), &*cmd);
        let mut replies = Box::pin(link.pipeline_again(&[&load, cmd], retry, &call.sent)).await?;
        reply = replies.pop().unwrap_or(Err(Error::Closed));
        check_load(replies.pop(), call.script)?;
    }
    reply.and_then(|reply| call.proven(reply))
}

/// As [`eval`]; says for how long the server was busy with it, too, by its own clock. The call that loads the script
/// counts with its way.
///
/// # Errors
/// What [`Link::pipeline`], [`eval`] and `read` return.
pub(super) async fn eval_timed<T>(
    link: &Link,
    call: &Call,
    retry: Retry,
    read: impl Fn(Value) -> Result<T>,
) -> Result<(T, Duration)> {
    let time = redis::cmd("TIME");
    let replies = link.pipeline(&[&time, &*call.for_link(link), &time], retry).await?;
    let [began, found, ended] = <[_; 3]>::try_from(replies).map_err(|_| Error::Closed)?;
    if found.as_ref().is_err_and(is_noscript) {
        let began = Instant::now();
        return Ok((eval(link, call, retry, read).await?, began.elapsed()));
    }
    let busy = reply::micros(ended?)?.saturating_sub(reply::micros(began?)?);
    let found = link.believe(retry, found.and_then(read))?;
    Ok((found, Duration::from_micros(u64::try_from(busy).unwrap_or(0))))
}

/// Runs calls of one script in one pipeline; a reply or an error per call, in their order. Loads the script first if
/// the server does not have it.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn eval_all(link: &Link, calls: &[Call], retry: Retry) -> Result<Vec<Result<Value>>> {
    let cmds: Vec<Cow<'_, Cmd>> = calls.iter().map(|call| call.for_link(link)).collect();
    let mut replies = link.pipeline(&cmds, retry).await?;
    for _ in 0..MAX_LOADS {
        let is_missing = |at: &usize| replies[*at].as_ref().is_err_and(is_noscript);
        let missing: Vec<usize> = (0..replies.len()).filter(is_missing).collect();
        let Some(first) = missing.first() else { break };
        let load = calls[*first].load();
        let again = std::iter::once(&load).chain(missing.iter().map(|at| &*cmds[*at]));
        let mut again = link.pipeline(&again.collect::<Vec<_>>(), retry).await?.into_iter();
        link.believe(retry, check_load(again.next(), calls[*first].script))?;
        for (at, reply) in missing.into_iter().zip(again) {
            replies[at] = reply;
        }
    }
    Ok(replies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripts::lua;

    fn arguments(cmd: &Cmd) -> Vec<String> {
        let text = |arg: Arg<&[u8]>| {
            if let Arg::Simple(bytes) = arg {
                String::from_utf8_lossy(bytes).into_owned()
            } else {
                "?".into()
            }
        };
        cmd.args_iter().skip(2).map(text).collect()
    }

    #[test]
    fn a_call_on_a_cluster_has_a_last_key_that_never_exists() {
        let (one, two) = (Keys::new("{b}", "one").unwrap(), Keys::new("{b}", "two").unwrap());
        let mut call = Call::new(&lua::manage::PAUSE, &one);
        call.arg("").arg(7);
        assert_eq!(arguments(&call.cmd), ["1", "{b}:one:meta", "", "7"]);
        assert_eq!(arguments(&call.guarded()), ["3", "{b}:one:meta", "{b}:one:meta", "{b}:one:ext:guard", "", "7"]);
        let mut call = Call::on_both(&lua::route::MOVE_JOB, &one, &two);
        call.arg("wait");
        assert_eq!(arguments(&call.cmd), ["2", "{b}:one:meta", "{b}:two:meta", "wait"]);
        assert_eq!(arguments(&call.guarded()), ["3", "{b}:one:meta", "{b}:two:meta", "{b}:one:ext:guard", "wait"]);
    }
}
