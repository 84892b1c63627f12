//! How large the calls of a worker may be. Larger calls gain nothing, and other clients of that Redis wait longer.

/// Jobs per fetch or finish call.
pub const JOBS: usize = 110;
/// Bytes of jobs per fetch call.
pub const JOB_BYTES: usize = 512 * 1024;
/// Bytes of results per finish call.
pub const OUTCOME_BYTES: usize = 1024 * 1024;
