//! Asks Redis whether a job was finished, when the reply to a finish call is not known.

use redis::Value;

use super::finisher::Finisher;
use crate::connection::Retry;
use crate::error::Error;
use crate::scripts::lock::release_lock;
use crate::worker::held::HeldJob;

/// How long the list of a run lives after its last job, as in `lua/include/finish/list_in_run.lua`.
const RUN_SECONDS: i64 = 604_800;

impl Finisher {
    /// Whether a job that was refused in a repeated call was accepted in the first one.
    pub(super) async fn was_finished(&self, error: &Error, job: &HeldJob) -> bool {
        matches!(error, Error::Code { code: -1 | -2 | -3 | -6, .. }) && self.is_finished(job).await
    }

    /// Whether a job is finished and has left `active`; false if Redis does not answer. A finished job that was removed
    /// by its keep rule may still be in `active`, if the call stopped half-way: it is removed from there now.
    pub(super) async fn is_finished(&self, job: &HeldJob) -> bool {
        let (mut fields, mut place) = (redis::cmd("HMGET"), redis::cmd("LPOS"));
        fields.arg(self.lane.keys.job(job.id())).arg("finishedOn").arg("name");
        place.arg(self.lane.keys.of("active")).arg(job.id());
        let Ok(replies) = self.link.pipeline(&[fields, place], Retry::Safe).await else { return false };
        let [Ok(fields), Ok(place)] = &replies[..] else { return false };
        let present =
            |at: usize| !matches!(fields, Value::Array(fields) if matches!(fields.get(at), None | Some(Value::Nil)));
        let is_active = *place != Value::Nil;
        if present(1) {
            return present(0) && !is_active;
        }
        if is_active {
            let mut leave = redis::cmd("LREM");
            leave.arg(self.lane.keys.of("active")).arg(-1).arg(job.id());
            let left = self.link.call(&leave, Retry::Safe).await;
            if let (Ok(Value::Int(1)), Some(run)) = (left, &self.state.options.run) {
                let list = self.lane.keys.run(run);
                let (mut push, mut expire) = (redis::cmd("RPUSH"), redis::cmd("EXPIRE"));
                push.arg(&list).arg(job.id());
                expire.arg(&list).arg(RUN_SECONDS);
                let _ = self.link.pipeline(&[push, expire], Retry::Never).await;
            }
            let _ = release_lock(&self.link, &self.lane.keys, job.id(), &job.token).await;
        }
        true
    }
}
