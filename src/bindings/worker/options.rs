//! The options of a worker. Python has checked them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::super::route::PyProfile;
use crate::protocol::{Keep, Tier};
use crate::worker::lanes::LaneSpec;
use crate::worker::options::{Limiter, PayloadLimit, Routing, ScanRule, Timeouts, WorkerOptions};

#[pyclass(frozen, module = "bullrush._core")]
pub struct CoreWorkerOptions(pub WorkerOptions);

fn keep(rule: Option<(i64, Option<i64>)>) -> Option<Keep> {
    rule.map(|(count, age)| Keep { count, age })
}

/// Queue, tier, weight, whether it is known to be used, and the most of its jobs at a time.
type GivenLane = (String, String, u32, bool, Option<usize>);

fn lane((queue, tier, weight, registered, concurrency): GivenLane) -> PyResult<LaneSpec> {
    let tier = match &*tier {
        "server" => Tier::Server,
        "specific" => Tier::Specific,
        "base" => Tier::Base,
        other => return Err(PyValueError::new_err(format!("a tier is server, specific or base, not {other:?}"))),
    };
    Ok(LaneSpec { queue, tier, weight, registered, concurrency })
}

#[pymethods]
impl CoreWorkerOptions {
    #[new]
    #[pyo3(signature = (*, prefetch=None, lock_duration=30_000, lock_renew_time=15_000, stalled_interval=30_000,
        max_stalled_count=1, max_started_attempts=None, limiter=None, share_rate_limit=false, timeout=None, timeouts=None, drain_delay=5_000, remove_on_complete=None,
        remove_on_fail=None, metrics_max_points=None, worker_name=None, skip_stalled_check=false, run_retry_delay=1_000,
        skip_lock_renewal=false, max_backoff=Some(3_600_000), max_error_size=65_536, payload_limit=None, run=None,
        allow_legacy=false, notify=false, fan_out=false, scan_depth=None, profile=None,
        routes_only=false, lanes=None, strict=false,
        needed_rights=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        prefetch: Option<usize>,
        lock_duration: u64,
        lock_renew_time: u64,
        stalled_interval: u64,
        max_stalled_count: i64,
        max_started_attempts: Option<i64>,
        limiter: Option<(i64, i64)>,
        share_rate_limit: bool,
        timeout: Option<u64>,
        timeouts: Option<HashMap<String, u64>>,
        drain_delay: u64,
        remove_on_complete: Option<(i64, Option<i64>)>,
        remove_on_fail: Option<(i64, Option<i64>)>,
        metrics_max_points: Option<i64>,
        worker_name: Option<String>,
        skip_stalled_check: bool,
        run_retry_delay: u64,
        skip_lock_renewal: bool,
        max_backoff: Option<i64>,
        max_error_size: usize,
        payload_limit: Option<(usize, bool)>,
        run: Option<String>,
        allow_legacy: bool,
        notify: bool,
        fan_out: bool,
        scan_depth: Option<usize>,
        profile: Option<&PyProfile>,
        routes_only: bool,
        lanes: Option<Vec<GivenLane>>,
        strict: bool,
        needed_rights: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let by_name = timeouts.unwrap_or_default().into_iter();
        Ok(Self(WorkerOptions {
            concurrency: 1,
            routing: profile.map(|PyProfile(profile)| Routing {
                profile: profile.clone(),
                routes_only,
                scan: scan_depth.map(|depth| ScanRule { depth, profile: profile.canonical() }),
            }),
            lanes: lanes.unwrap_or_default().into_iter().map(lane).collect::<PyResult<_>>()?,
            strict,
            prefetch,
            lock_duration: Duration::from_millis(lock_duration),
            lock_renew_time: Duration::from_millis(lock_renew_time),
            stalled_interval: Duration::from_millis(stalled_interval),
            max_stalled_count,
            max_started_attempts,
            limiter: limiter.map(|(max, duration_ms)| Limiter { max, duration_ms }),
            share_rate_limit,
            timeouts: Timeouts {
                default: timeout.map(Duration::from_millis),
                by_name: Arc::new(by_name.map(|(name, ms)| (name, Duration::from_millis(ms))).collect()),
            },
            drain_delay: Duration::from_millis(drain_delay),
            remove_on_complete: keep(remove_on_complete),
            remove_on_fail: keep(remove_on_fail),
            metrics_max_points,
            worker_name: worker_name.map(Into::into),
            skip_stalled_check,
            run_retry_delay: Duration::from_millis(run_retry_delay),
            worker_id: String::new(),
            skip_lock_renewal,
            max_backoff_ms: max_backoff,
            max_error_size,
            payload_limit: payload_limit.map(|(bytes, refuses_data)| PayloadLimit { bytes, refuses_data }),
            run: run.map(Into::into),
            allow_legacy,
            notify,
            fan_out,
            needed_rights: needed_rights.unwrap_or_default(),
        }))
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
