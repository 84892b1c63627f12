//! Asks Redis what became of a job, when the reply to the call that ended its attempt is not known.

use redis::Value;

use super::finisher::Finisher;
use crate::connection::{Link, Retry};
use crate::error::Error;
use crate::protocol::Keys;
use crate::scripts::lock::release_lock;
use crate::worker::held::HeldJob;

/// How long the list of a run lives after its last job, as in `lua/include/finish/list_in_run.lua`.
const RUN_SECONDS: i64 = 604_800;

impl Finisher {
    /// Whether a job that was refused in a repeated call was accepted in the first one.
    pub(super) async fn was_finished(&self, error: &Error, job: &HeldJob) -> bool {
        has_left(error) && self.is_finished(job).await
    }

    pub(super) async fn is_finished(&self, job: &HeldJob) -> bool {
        is_finished(&self.link, &self.lane.keys, self.state.options.run.as_deref(), job.id(), &job.token).await
    }
}

/// Whether a failed attempt that was refused in a repeated call was accepted in the first one: it is counted, and its
/// stack trace is the job's, perhaps with those of later attempts behind it. False if Redis does not answer.
///
/// `made`: the attempts before it; `stack`: the job's stack traces with its own, a JSON array.
pub async fn is_retried(link: &Link, keys: &Keys, id: &str, made: i64, stack: &str) -> bool {
    let mut fields = redis::cmd("HMGET");
    fields.arg(keys.job(id)).arg("atm").arg("stacktrace");
    let Ok(Value::Array(fields)) = link.call(&fields, Retry::Safe).await else { return false };
    let [Value::BulkString(counted), Value::BulkString(stored)] = &fields[..] else { return false };
    let is_counted =
        std::str::from_utf8(counted).ok().and_then(|atm| atm.parse().ok()).is_some_and(|atm: i64| atm > made);
    is_counted && stored.starts_with(stack.strip_suffix(']').unwrap_or(stack).as_bytes())
}

/// Whether a refusal says that a job is not active here any more.
pub fn has_left(error: &Error) -> bool {
    matches!(error, Error::Code { code: -1 | -2 | -3 | -6, .. })
}

/// Whether a job is finished and has left `active`; false if Redis does not answer. A finished job that was removed by
/// its keep rule may still be in `active`, if the call stopped half-way: it is removed from there now.
pub async fn is_finished(link: &Link, keys: &Keys, run: Option<&str>, id: &str, token: &str) -> bool {
    let (mut fields, mut place) = (redis::cmd("HMGET"), redis::cmd("LPOS"));
    fields.arg(keys.job(id)).arg("finishedOn").arg("name");
    place.arg(keys.of("active")).arg(id);
    let Ok(replies) = link.pipeline(&[fields, place], Retry::Safe).await else { return false };
    let [Ok(fields), Ok(place)] = &replies[..] else { return false };
    let present =
        |at: usize| !matches!(fields, Value::Array(fields) if matches!(fields.get(at), None | Some(Value::Nil)));
    let is_active = *place != Value::Nil;
    if present(1) {
        return present(0) && !is_active;
    }
    if is_active {
        let mut leave = redis::cmd("LREM");
        leave.arg(keys.of("active")).arg(-1).arg(id);
        let left = link.call(&leave, Retry::Safe).await;
        if let (Ok(Value::Int(1)), Some(run)) = (left, run) {
            let list = keys.run(run);
            let (mut push, mut expire) = (redis::cmd("RPUSH"), redis::cmd("EXPIRE"));
            push.arg(&list).arg(id);
            expire.arg(&list).arg(RUN_SECONDS);
            let _ = link.pipeline(&[push, expire], Retry::Never).await;
        }
        let _ = release_lock(link, keys, id, token).await;
    }
    true
}
