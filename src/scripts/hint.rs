//! Hints that wake workers: `lua/hint`.

use redis::{Cmd, Value};

use super::call::{eval_unjudged, is_noscript, run};
use super::oom_wait::{wait_for_memory, OomWait};
use super::{eval, eval_all, lua, Call};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{reply, Channel, Keys};

/// Whether a member of the marker is one of a fan-out.
#[must_use]
pub fn is_fanned_out(member: &str) -> bool {
    member.starts_with("w:")
}

/// Removes the markers of a fan-out whose jobs have been taken. Returns how many it removed.
///
/// # Errors
/// What [`eval`] returns.
pub async fn sweep_markers(link: &Link, keys: &Keys) -> Result<i64> {
    eval(link, &Call::new(&lua::hint::SWEEP_MARKERS, keys), Retry::Safe, reply::integer).await
}

/// Wakes another worker of each of these queues for what is left there, by a call per queue in one pipeline. What a
/// queue refuses is only logged.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn wake_another<'a>(link: &Link, queues: impl IntoIterator<Item = &'a Keys>) -> Result<()> {
    let calls: Vec<Call> = queues.into_iter().map(|keys| Call::new(&lua::hint::WAKE_ANOTHER, keys)).collect();
    if !calls.is_empty() {
        log_failures(eval_all(link, &calls, Retry::Safe).await?.iter());
    }
    Ok(())
}

/// Adds to the number of workers that may wake. Returns the number now. Never sent twice.
///
/// # Errors
/// [`crate::error::Error::OutcomeUnknown`] when the reply got lost.
pub async fn provide_wake_hint(link: &Link, keys: &Keys, count: i64) -> Result<i64> {
    let mut call = Call::new(&lua::hint::PROVIDE_WAKE_HINT, keys);
    call.arg(count);
    eval(link, &call, Retry::Never, reply::integer).await
}

/// Asks for how many jobs, at most `want`, a worker may wake. Never sent twice.
///
/// # Errors
/// [`crate::error::Error::OutcomeUnknown`] when the reply got lost.
pub async fn consume_wake_hint(link: &Link, keys: &Keys, want: i64) -> Result<i64> {
    let mut call = Call::new(&lua::hint::CONSUME_WAKE_HINT, keys);
    call.arg(want);
    eval(link, &call, Retry::Never, reply::integer).await
}

/// How an add wakes idle workers, besides the marker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// By a marker per job.
    pub fan_out: bool,
    /// By a [`WakeHint`].
    pub notify: bool,
}

impl Wake {
    /// The hint about `count` new jobs that may run now, if there is to be one.
    #[must_use]
    pub fn hint(self, keys: &Keys, count: usize) -> Option<WakeHint> {
        (self.notify && count > 0).then(|| WakeHint::new(keys, count))
    }
}

/// Tells idle workers that jobs wait: their number, then a message to all who listen. The number is there before the
/// message.
pub struct WakeHint {
    provide: Call,
    publish: Cmd,
}

impl WakeHint {
    /// `count` jobs of this queue may run now.
    #[must_use]
    pub fn new(keys: &Keys, count: usize) -> Self {
        let mut provide = Call::new(&lua::hint::PROVIDE_WAKE_HINT, keys);
        provide.arg(count.max(1));
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(Channel::Sched.of(keys.prefix())).arg(keys.name());
        WakeHint { provide, publish }
    }

    /// Sends it. A failure is only logged: workers also look for themselves.
    pub async fn send(&self, link: &Link) {
        let provide = self.provide.for_link(link);
        match link.pipeline(&[&self.provide.load(), &*provide, &self.publish], Retry::Never).await {
            Ok(replies) => log_failures(replies.iter()),
            Err(error) => log_failure(&error),
        }
    }
}

/// As [`eval`]. What wakes workers for the jobs of the call goes behind it in the same pipeline. With oom_wait the call
/// is made again while the memory of the server is full.
///
/// # Errors
/// What [`eval`] returns; with oom_wait not `OOM`. A failure to wake workers is only logged.
pub async fn eval_and_wake<T>(
    link: &Link,
    call: &Call,
    retry: Retry,
    hint: Option<&WakeHint>,
    oom_wait: Option<&OomWait>,
    read: impl Fn(Value) -> Result<T>,
) -> Result<T> {
    let result = wait_for_memory(oom_wait, || async {
        match hint {
            None => eval_unjudged(link, call, retry, &read).await,
            Some(hint) => eval_with_hint(link, call, retry, hint, &read).await,
        }
    });
    call.judged(retry, result.await)
}

async fn eval_with_hint<T>(
    link: &Link,
    call: &Call,
    retry: Retry,
    hint: &WakeHint,
    read: impl Fn(Value) -> Result<T>,
) -> Result<T> {
    let (cmd, provide) = (call.for_link(link), hint.provide.for_link(link));
    let mut replies = link.pipeline_again(&[&*cmd, &*provide, &hint.publish], retry, &call.sent).await?.into_iter();
    let mut reply = replies.next().unwrap_or(Err(Error::Closed)).and_then(|reply| call.proven(reply));
    let replies: Vec<Result<Value>> = replies.collect();
    log_failures(replies.iter().filter(|reply| !reply.as_ref().is_err_and(is_noscript)));
    let provides = !replies.first().is_some_and(|provided| provided.as_ref().is_err_and(is_noscript));
    let too_early = reply.as_ref().is_err_and(is_noscript);
    if too_early {
        reply = run(link, call, retry).await;
    }
    if reply.is_ok() && !provides {
        hint.send(link).await;
    } else if reply.is_ok() && too_early {
        log_failures([link.call(&hint.publish, Retry::Safe).await].iter());
    }
    link.believe(retry, reply.and_then(read))
}

fn log_failures<'a>(replies: impl Iterator<Item = &'a Result<Value>>) {
    replies.filter_map(|reply| reply.as_ref().err()).take(1).for_each(log_failure);
}

fn log_failure(error: &Error) {
    tracing::debug!(%error, "could not tell workers about new jobs");
}
