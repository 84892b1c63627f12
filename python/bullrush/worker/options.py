"""The options of a worker: names, checks and defaults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict

from orjson import loads

from bullrush._core import WORKER_OPTIONS, CoreProfile
from bullrush.errors import InvalidOptionError
from bullrush.job.job import AsyncJob, Job
from bullrush.job.options import KeepOptions
from bullrush.job.owner import BackoffStrategy
from bullrush.retries import Classifier
from bullrush.rights import read_roles
from bullrush.routing import Profile, check_profile
from bullrush.telemetry.protocol import Telemetry, check_telemetry
from bullrush.url import check_url
from bullrush.values import checks
from bullrush.values.checks import Check, Duration
from bullrush.values.encoding import JSON, encode
from bullrush.values.naming import check_known
from bullrush.worker.option_checks import (
    check_callable,
    check_classifier,
    check_concurrency,
    check_drain_delay,
    check_keep,
    check_limiter,
    check_metrics,
    check_payload_limit,
    check_run,
    one_of,
)

if TYPE_CHECKING:
    from bullrush.worker.lanes.lane import Lane

#: Gets a job, and the lock token if it has a second parameter without a default; returns any JSON value. A plain
#: function gets a `Job`, a coroutine function an `aio.Job`. A text is the name of such a function, ``module:function``.
Handler: TypeAlias = (
    Callable[[Job], JSON]
    | Callable[[AsyncJob], Awaitable[JSON]]
    | Callable[[Job, str], JSON]
    | Callable[[AsyncJob, str], Awaitable[JSON]]
    | str
)

#: Gets a list of jobs, returns one result or exception for each, in the same order.
BatchHandler: TypeAlias = Callable[[list[Job]], Sequence[JSON]] | Callable[[list[AsyncJob]], Awaitable[Sequence[JSON]]]


class LimiterOptions(TypedDict):
    """A rate limit of all workers with a limiter together.

    Attributes:
        max: the most jobs that start in that time.
        duration: the time in ms.
    """

    max: int
    duration: Duration


class SettingsOptions(TypedDict, total=False):
    """BullMQ's ``settings``.

    Attributes:
        backoff_strategy: the same as the option of this name.
    """

    backoff_strategy: BackoffStrategy


class MetricsOptions(TypedDict):
    """Counts finished jobs per minute.

    Attributes:
        max_data_points: of how many minutes the counts are kept.
    """

    max_data_points: int


class WorkerOptions(TypedDict, total=False):
    """Options of a worker. Durations are milliseconds or timedeltas.

    Attributes:
        url: the URL of Redis; see `QueueOptions`.
        prefix: the prefix of all keys; ``bull`` by default.
        concurrency: how many jobs, or batches, run at the same time; 1.
        batch_handler: instead of a handler: gets up to ``batch_size`` jobs and returns a list with one result or
            exception for each.
        batch_size: the most jobs of a batch; 1.
        prefetch: how many jobs are claimed ahead of free slots. None adapts to the handlers: as many jobs as run in 10
            ms, held for at most 20 ms. 0 claims none. Nothing is claimed ahead with a limiter, a global concurrency,
            ``max_started_attempts``, ``max_stalled_count=0``, ``isolation="process"``, or while paused.
        lock_duration: how long a job's lock lasts without renewal; 30,000. Then another worker may take the job.
        lock_renew_time: the age at which a lock is renewed; half of ``lock_duration``.
        stalled_interval: the time between two checks for stalled jobs, whose worker stopped renewing their lock;
            30,000.
        max_stalled_count: how often a job may stall before it fails; 1.
        max_started_attempts: how often a job may be started; 0 or None: no limit other than ``attempts``.
        limiter: a rate limit; see `LimiterOptions`.
        share_rate_limit: True: the routes of the queue, see ``profile``, count for the rate limit of the queue itself,
            so that the limit is one for all of them. Otherwise each route has a rate limit of its own.
        timeout: how long a handler may take; None is no limit. Then the job fails with "timed out after N ms" and is
            retried as its options say. A coroutine is cancelled and a process is killed. A plain function sees
            ``job.cancelled``; its thread takes no other job until it has returned.
        isolation: ``thread``, or ``process``: handlers run in processes, one per slot, so that a crash fails only its
            own job. The handler must be importable by name.
        unknown: with handlers by name: what happens to a job whose name has none. ``fail``: it fails for good.
            ``delay``: it goes to ``delayed`` for 5 s, again and again, and no attempt is counted; but each time counts
            as a start, so that with ``max_started_attempts`` it fails in the end.
        drain_delay: how long one wait for new jobs lasts; 5,000, at least 100. (In BullMQ this is in seconds.)
        remove_on_complete: which completed jobs are kept, for jobs without this option of their own.
        remove_on_fail: the same for failed jobs.
        metrics: count finished jobs for `Queue.get_metrics`; see `MetricsOptions`.
        max_error_size: the most bytes of a failure's reason, and of its stack trace; the middle of longer texts is cut
            out. 65,536, at least 100.
        payload_limit: the most bytes of the data and of the result of a job, as JSON: a job with more data fails
            without being run, and a job with a longer result fails; both with a `TooLargeError`, and not again. Without
            this option 10,000,000 is the limit for results, and a job with more data runs, with one warning in the log.
            The same limit is for progress and rows of the log that a handler writes, and for `Job.move_to_completed`.
            None is no limit.
        max_backoff: the longest delay before a retry; 3,600,000. None is no limit, as in BullMQ.
        name: the worker's name, shown as ``processed_by`` of its jobs and in the list of workers. Without it, Redis
            shows none and logs show a name such as ``host-4711-a1b2c3``.
        run: up to 64 letters, digits, ``-`` and ``_``. The ids of the jobs that this worker finishes (completed, or
            failed for good) are appended to the list ``<prefix>:<queue>:ext:run-<run>``, which lives for 7 days after
            its last job. Workers may share a run. Their lock tokens begin with the run and a dot.
        autorun: True starts a background thread at once. Otherwise call `Worker.run`.
        skip_stalled_check: True leaves the check for stalled jobs to other workers.
        skip_lock_renewal: True never renews locks.
        backoff_strategy: returns the delay before a retry, for jobs with a custom backoff type; see `BackoffStrategy`.
        classify: gets an exception of a handler and returns `bullrush.retries.RETRY`, ``FAIL``, ``Retry(delay=...)``,
            or None for the normal decision; such as `bullrush.classifiers.network`. It is not asked about an
            `UnrecoverableError` or a `TransientError`, and attempts are left to the job's options.
        settings: ``{"backoff_strategy": ...}``, as in BullMQ.
        run_retry_delay: the pause after Redis returned an error to a fetch; 1,000.
        notify: True listens to messages of other programs, on one more connection per process: a job whose lock another
            worker took is cancelled at once, and not when its lock would be renewed; and the worker wakes for jobs of a
            `Queue` with ``notify=True``. Messages are hints; nothing depends on them.
        profile: what this worker has; see `Profile`. It takes the jobs of the queue, and those with a ``target`` that
            this matches, from all routes; it finds new routes within about 2 s.
        routes_only: True takes only jobs with a ``target``, and leaves all others to other workers. It needs a
            ``profile``.
        claim: ``scan``, with a ``profile``: this worker takes a job of the queue itself only if it has no target, or
            one that the profile matches. This is for producers that cannot use routes and put a ``target`` into the
            options of a job: all workers of the queue must scan. ``next``, the default, takes whatever is next.
        scan_depth: how many of the next jobs a scan looks at, and of the next prioritized ones; 100. Jobs behind them
            wait. It is for ``claim="scan"``.
        allow_legacy: True does not raise `LegacyQueueError`; see `QueueOptions`.
        fan_out: True wakes one idle worker per job when this worker makes several jobs ready: delayed jobs that are
            due, stalled jobs, parents whose children are done; see `QueueOptions`.
        strict: with a profile: True serves a route only while no better one has jobs: first those for this very
            server, then specific ones, then the queue itself. By default they share the turns 4 to 2 to 1.
        telemetry: a tracer such as `bullrush.otel.OpenTelemetry`, or None.
    """

    url: str | None
    prefix: str
    concurrency: int
    batch_handler: BatchHandler | None
    batch_size: int
    prefetch: int | None
    lock_duration: Duration
    lock_renew_time: Duration | None
    stalled_interval: Duration
    max_stalled_count: int
    max_started_attempts: int | None
    limiter: LimiterOptions | None
    share_rate_limit: bool
    drain_delay: Duration
    remove_on_complete: bool | int | KeepOptions | None
    remove_on_fail: bool | int | KeepOptions | None
    metrics: MetricsOptions | None
    max_error_size: int
    payload_limit: int | None
    max_backoff: Duration | None
    name: str | None
    run: str | None
    autorun: bool
    skip_stalled_check: bool
    skip_lock_renewal: bool
    backoff_strategy: BackoffStrategy | None
    classify: Classifier | None
    settings: SettingsOptions | None
    run_retry_delay: Duration
    timeout: Duration | None
    isolation: Literal["thread", "process"]
    unknown: Literal["fail", "delay"]
    notify: bool
    profile: Profile | None
    routes_only: bool
    claim: Literal["next", "scan"]
    scan_depth: int
    allow_legacy: bool
    fan_out: bool
    strict: bool
    telemetry: Telemetry | None


_SETTINGS: Final[dict[str, Check]] = {"backoff_strategy": check_callable}


def _rule(check: Check, *, nullable: bool) -> dict[str, object]:
    return {"check": check, "nullable": nullable}


def _option(default: Any, check: Check, *, nullable: bool = False) -> Any:
    """Describe an option. None is allowed if it is the default, or if ``nullable`` is set."""
    return field(default=default, metadata=_rule(check, nullable=nullable or default is None))


@dataclass(frozen=True)
class WorkerSettings:
    """Checked options of a worker, in the units of the core."""

    url: str | None = _option(None, check_url)
    prefix: str = _option("bull", checks.text)
    concurrency: int = _option(1, check_concurrency)
    batch_handler: BatchHandler | None = field(default=None, metadata=_rule(check_callable, nullable=True))
    batch_size: int = _option(1, checks.at_least(1))
    prefetch: int | None = _option(None, checks.at_least(0))
    lock_duration: int = _option(30_000, checks.positive_milliseconds)
    lock_renew_time: int | None = _option(None, checks.positive_milliseconds)
    stalled_interval: int = _option(30_000, checks.positive_milliseconds)
    max_stalled_count: int = _option(1, checks.at_least(0))
    max_started_attempts: int | None = _option(None, checks.at_least(0))
    limiter: tuple[int, int] | None = _option(None, check_limiter)
    share_rate_limit: bool = _option(default=False, check=checks.boolean)
    timeout: int | None = _option(None, checks.positive_milliseconds)
    isolation: str = _option("thread", one_of("thread", "process"))
    unknown: str = _option("fail", one_of("fail", "delay"))
    drain_delay: int = _option(5_000, check_drain_delay)
    remove_on_complete: tuple[int, int | None] | None = _option(None, check_keep)
    remove_on_fail: tuple[int, int | None] | None = _option(None, check_keep)
    metrics: int | None = _option(None, check_metrics)
    max_error_size: int = _option(65_536, checks.at_least(100))
    payload_limit: tuple[int, bool] | None = _option((checks.PAYLOAD_LIMIT, False), check_payload_limit, nullable=True)
    max_backoff: int | None = _option(3_600_000, checks.positive_milliseconds, nullable=True)
    name: str | None = _option(None, checks.text)
    run: str | None = _option(None, check_run)
    autorun: bool = _option(default=False, check=checks.boolean)
    skip_stalled_check: bool = _option(default=False, check=checks.boolean)
    run_retry_delay: int = _option(1_000, checks.positive_milliseconds)
    skip_lock_renewal: bool = _option(default=False, check=checks.boolean)
    notify: bool = _option(default=False, check=checks.boolean)
    profile: CoreProfile | None = field(default=None, metadata=_rule(check_profile, nullable=True))
    routes_only: bool = _option(default=False, check=checks.boolean)
    claim: str = _option("next", one_of("next", "scan"))
    scan_depth: int = _option(100, checks.at_least(1))
    allow_legacy: bool = _option(default=False, check=checks.boolean)
    fan_out: bool = _option(default=False, check=checks.boolean)
    strict: bool = _option(default=False, check=checks.boolean)
    backoff_strategy: BackoffStrategy | None = field(default=None, metadata=_rule(check_callable, nullable=True))
    classify: Classifier | None = field(default=None, metadata=_rule(check_classifier, nullable=True))
    telemetry: Telemetry | None = field(default=None, metadata=_rule(check_telemetry, nullable=True))

    def as_json(self, timeouts: Mapping[str, int] | None = None, lanes: Sequence[Lane] = ()) -> bytes:
        """Return the options that the core reads, as JSON.

        Args:
            timeouts: the timeouts of jobs by name.
            lanes: the queues to serve; without any, the worker's own.
        """
        routing = self.profile and {
            "profile": loads(self.profile.canonical),
            "routes_only": self.routes_only,
            "scan_depth": self.scan_depth if self.claim == "scan" else None,
        }
        made = {
            # A prefetched job needs a call when it starts, and handler processes make no calls of the worker.
            "prefetch": 0 if self.isolation == "process" else self.prefetch,
            "lock_renew_time": self.lock_renew_time or max(1, self.lock_duration // 2),
            # As in BullMQ, 0 is no limit.
            "max_started_attempts": self.max_started_attempts or None,
            "routing": routing,
            "timeouts": {"default": self.timeout, "by_name": timeouts or {}},
            "lanes": [asdict(lane) for lane in lanes],
            "needed_rights": read_roles()["worker"].needed,
        }
        return encode({name: made[name] if name in made else getattr(self, name) for name in WORKER_OPTIONS}, "options")


_KNOWN: Final = frozenset(WorkerOptions.__annotations__)


def with_defaults(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a worker, and those defaults that it does not replace, by ``settings`` either."""
    replaced = {*options, *(options.get("settings") or ())}
    return {**{name: value for name, value in defaults.items() if name not in replaced}, **options}


def read_worker_options(options: Mapping[str, object]) -> WorkerSettings:
    """Check the options of a worker and fill in defaults.

    Raises:
        UnknownOptionError: an option does not exist.
        InvalidOptionError: an option has a value that cannot be used.
    """
    check_known(options, _KNOWN, "Worker")
    options = {**checks.members("settings", options.get("settings") or {}, _SETTINGS), **options}
    checked: dict[str, Any] = {}
    for option in fields(WorkerSettings):
        value = options.get(option.name, option.default)
        if value is not None or not option.metadata["nullable"]:
            value = option.metadata["check"](option.name, value)
        checked[option.name] = value
    settings = WorkerSettings(**checked)
    if settings.batch_handler is None and settings.batch_size != 1:
        raise InvalidOptionError("batch_size needs a batch_handler")
    if settings.routes_only and not (settings.profile and settings.profile.self_routes()):
        raise InvalidOptionError(
            "routes_only=True needs a profile that has something, such as profile={'capabilities': ['gpu']}"
        )
    if settings.claim == "scan" and (settings.profile is None or settings.routes_only):
        raise InvalidOptionError(
            "claim='scan' needs a profile, and not routes_only=True: it looks for jobs of the queue itself that match"
        )
    return settings
