//! Which fetched jobs may run: the one rule, for the engine and for calls by hand.

use super::held::HeldJob;
use super::options::WorkerOptions;

/// Why a job fails without being run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAdmitted {
    /// The class of the error.
    pub class: &'static str,
    pub reason: String,
}

/// Why a job must fail without being run; `None`: it may run.
#[must_use]
pub fn not_admitted(job: &HeldJob, options: &WorkerOptions) -> Option<NotAdmitted> {
    let [name, deferred_failure, data] = job.record.pick(["name", "defa", "data"]);
    let unrecoverable = |reason| Some(NotAdmitted { class: "UnrecoverableError", reason });
    if let Some(deferred) = deferred_failure {
        return unrecoverable(String::from_utf8_lossy(deferred).into_owned());
    }
    if name.is_none() {
        let id = job.id();
        return unrecoverable(format!("Missing key for job {id}. The job was deleted or its hash is malformed"));
    }
    if options.max_started_attempts.is_some_and(|most| job.starts() > most) {
        return unrecoverable("job started more than allowable limit".to_owned());
    }
    let limit = options.payload_limit.filter(|limit| limit.refuses_data)?;
    let reason = limit.data_error(data.map_or(0, <[u8]>::len))?;
    Some(NotAdmitted { class: "TooLargeError", reason })
}
