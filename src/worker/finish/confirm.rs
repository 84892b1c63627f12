//! Asks Redis whether a job was finished, when the reply to a finish call is not known.

use redis::Value;

use super::finisher::Finisher;
use crate::connection::Retry;
use crate::error::Error;
use crate::scripts::lock::release_lock;
use crate::worker::held::HeldJob;

impl Finisher {
    /// Whether a job that was refused in a repeated call was accepted in the first one.
    pub(super) async fn was_finished(&self, error: &Error, job: &HeldJob) -> bool {
        matches!(error, Error::Code { code: -1 | -2 | -3 | -6, .. }) && self.is_finished(job).await
    }

    /// Whether a job is finished and has left `active`; false if Redis does not answer. A finished job that was removed
    /// by its keep rule may still be in `active`, if the call stopped half-way: it is removed from there now.
    pub(super) async fn is_finished(&self, job: &HeldJob) -> bool {
        let (mut fields, mut place) = (redis::cmd("HMGET"), redis::cmd("LPOS"));
        fields.arg(self.keys.job(job.id())).arg("finishedOn").arg("name");
        place.arg(self.keys.of("active")).arg(job.id());
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
            leave.arg(self.keys.of("active")).arg(-1).arg(job.id());
            let _ = self.link.call(&leave, Retry::Safe).await;
            let _ = release_lock(&self.link, &self.keys, job.id(), &job.token).await;
        }
        true
    }
}
