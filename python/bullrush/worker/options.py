"""The options of a worker: names, checks and defaults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, TypedDict

from orjson import loads

from bullrush._core import WORKER_OPTIONS
from bullrush.base.options import HandleOptions, TracedOptions
from bullrush.errors import InvalidOptionError
from bullrush.job.job import AsyncJob, Job
from bullrush.job.options import JobOptions, KeepOptions
from bullrush.job.owner import BackoffStrategy
from bullrush.retries import Classifier
from bullrush.rights import read_roles
from bullrush.routing import Routing
from bullrush.values import checks
from bullrush.values.checks import Check, Duration
from bullrush.values.encoding import JSON, encode
from bullrush.values.naming import check_known
from bullrush.values.options import Option, Settings, checked_options, declare_options, declared
from bullrush.values.shown import shown
from bullrush.worker.option_checks import (
    check_callable,
    check_classifier,
    check_concurrency,
    check_drain_delay,
    check_durations,
    check_keep,
    check_limiter,
    check_metrics,
    check_payload_limit,
    check_results_options,
    check_results_queue,
    check_run,
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


_SETTINGS: Final[dict[str, Check]] = {"backoff_strategy": check_callable}


def check_settings(name: str, value: object) -> dict[str, Any]:
    """Return BullMQ's ``settings``."""
    return checks.members(name, value or {}, _SETTINGS)


@declare_options
class WorkerOptions(HandleOptions, TracedOptions, Routing, total=False):
    """Options of a worker. Durations are milliseconds or timedeltas."""

    routing: Annotated[
        Routing | None,
        Option(
            lambda _, routing: routing,  # see `with_routing`
            bullmq=None,
            doc=(
                "``profile`` and the options that need it in one: ``routing=Routing(profile=..., strict=True)``, or a "
                "dict. ``profile=`` is its short form; an option is given in one of the two places."
            ),
        ),
    ]

    concurrency: Annotated[
        int,
        Option(check_concurrency, default=1, doc="how many jobs, or batches, run at the same time; 1."),
    ]
    batch_handler: Annotated[
        BatchHandler | None,
        Option(
            check_callable,
            bullmq=None,
            doc=(
                "instead of a handler: gets up to ``batch_size`` jobs and returns a list with one result or exception "
                "for each."
            ),
        ),
    ]
    batch_size: Annotated[int, Option(checks.at_least(1), default=1, bullmq=None, doc="the most jobs of a batch; 1.")]
    prefetch: Annotated[
        int | None,
        Option(
            checks.at_least(0),
            shown="adaptive",
            bullmq=None,
            doc=(
                "how many jobs are claimed ahead of free slots. None adapts to the handlers: as many jobs as run in 10"
                " ms, held for at most 20 ms. 0 claims none. Nothing is claimed ahead with a limiter, a global "
                'concurrency, ``max_started_attempts``, ``max_stalled_count=0``, ``isolation="process"``, or while '
                "paused."
            ),
        ),
    ]
    lock_duration: Annotated[
        Duration,
        Option(
            checks.positive_milliseconds,
            default=30_000,
            doc="how long a job's lock lasts without renewal; 30,000. Then another worker may take the job.",
        ),
    ]
    lock_durations: Annotated[
        Mapping[str, Duration] | None,
        Option(
            check_durations,
            bullmq=None,
            doc=(
                "how long the locks of jobs last without renewal, by the names of jobs, where that is not "
                '``lock_duration``: ``{"render": 300_000}``. It holds from the first renewal on, which comes within a '
                "quarter of the shorter of the two."
            ),
        ),
    ]
    lock_renew_time: Annotated[
        Duration | None,
        Option(
            checks.positive_milliseconds,
            shown="half of `lock_duration`",
            doc="the age at which a lock is renewed; half of ``lock_duration``.",
        ),
    ]
    heartbeat_interval: Annotated[
        Duration | None,
        Option(
            checks.positive_milliseconds,
            shown="half of `lock_renew_time`",
            bullmq=None,
            doc=(
                "the time between two looks for locks that are older than half of ``lock_renew_time``, which are "
                "renewed then; half of ``lock_renew_time``. At most three quarters of ``lock_duration``, less half of "
                "``lock_renew_time``: a lock is renewed before it ends."
            ),
        ),
    ]
    stalled_interval: Annotated[
        Duration,
        Option(
            checks.positive_milliseconds,
            default=30_000,
            doc="the time between two checks for stalled jobs, whose worker stopped renewing their lock; 30,000.",
        ),
    ]
    max_stalled_count: Annotated[
        int,
        Option(checks.at_least(0), default=1, doc="how often a job may stall before it fails; 1."),
    ]
    max_started_attempts: Annotated[
        int | None,
        Option(checks.at_least(0), doc="how often a job may be started; 0 or None: no limit other than ``attempts``."),
    ]
    limiter: Annotated[LimiterOptions | None, Option(check_limiter, doc="a rate limit; see `LimiterOptions`.")]
    drain_delay: Annotated[
        Duration,
        Option(
            check_drain_delay,
            default=5_000,
            doc="how long one wait for new jobs lasts; 5,000, at least 100. (In BullMQ this is in seconds.).",
        ),
    ]
    remove_on_complete: Annotated[
        bool | int | KeepOptions | None,
        Option(check_keep, doc="which completed jobs are kept, for jobs without this option of their own."),
    ]
    remove_on_fail: Annotated[bool | int | KeepOptions | None, Option(check_keep, doc="the same for failed jobs.")]
    metrics: Annotated[
        MetricsOptions | None,
        Option(check_metrics, doc="count finished jobs for `Queue.get_metrics`; see `MetricsOptions`."),
    ]
    max_error_size: Annotated[
        int,
        Option(
            checks.at_least(100),
            default=65_536,
            unit="bytes",
            bullmq=None,
            doc=(
                "the most bytes of a failure's reason, and of its stack trace; the middle of longer texts is cut out. "
                "65,536, at least 100."
            ),
        ),
    ]
    payload_limit: Annotated[
        int | None,
        Option(
            check_payload_limit,
            default=(checks.PAYLOAD_LIMIT, False),
            none=True,
            shown=f"{checks.PAYLOAD_LIMIT:,} for results",
            unit="bytes",
            bullmq=None,
            doc=(
                "the most bytes of the data and of the result of a job, as JSON: a job with more data fails without "
                "being run, and a job with a longer result fails; both with a `TooLargeError`, and not again. Without "
                "this option 10,000,000 is the limit for results, and a job with more data runs, with one warning in "
                "the log. The same limit is for progress and rows of the log that a handler writes, and for "
                "`Job.move_to_completed`. None is no limit."
            ),
        ),
    ]
    max_backoff: Annotated[
        Duration | None,
        Option(
            checks.positive_milliseconds,
            default=3_600_000,
            none=True,
            bullmq=None,
            doc="the longest delay before a retry; 3,600,000. None is no limit, as in BullMQ.",
        ),
    ]
    name: Annotated[
        str | None,
        Option(
            checks.text,
            doc=(
                "the worker's name, shown as ``processed_by`` of its jobs and in the list of workers. Without it, "
                "Redis shows none and logs show a name such as ``host-4711-a1b2c3``."
            ),
        ),
    ]
    run: Annotated[
        str | None,
        Option(
            check_run,
            bullmq=None,
            doc=(
                "up to 64 letters, digits, ``-`` and ``_``. The ids of the jobs that this worker finishes (completed, "
                "or failed for good) are appended to the list ``<prefix>:<queue>:ext:run-<run>``, which lives for 7 "
                "days after its last job. Workers may share a run. Their lock tokens begin with the run and a dot."
            ),
        ),
    ]
    results_queue: Annotated[
        str | None,
        Option(
            check_results_queue,
            bullmq=None,
            doc=(
                "the name of another queue with the same prefix: when a job of this worker completes or fails for good,"
                " its outcome is added there as a job, in the same step. The job has the same name; its data is a dict "
                'with ``queue``, ``id``, ``name``, ``state`` ("completed" or "failed"), ``attemptsMade``, '
                "``finishedOn`` (ms), and ``returnvalue`` or ``failedReason``."
            ),
        ),
    ]
    results_options: Annotated[
        JobOptions,
        Option(
            check_results_options,
            default='{"attempts":0}',
            bullmq=None,
            shown="{}",
            doc=(
                "the options of the jobs in ``results_queue``: ``attempts``, ``backoff``, ``keep_logs``, "
                "``remove_on_complete``, ``remove_on_fail`` and ``stack_trace_limit``."
            ),
        ),
    ]
    autorun: Annotated[
        bool,
        Option(
            checks.boolean,
            default=False,
            doc="True starts a background thread at once. Otherwise call `Worker.run`.",
        ),
    ]
    skip_stalled_check: Annotated[
        bool,
        Option(checks.boolean, default=False, doc="True leaves the check for stalled jobs to other workers."),
    ]
    skip_lock_renewal: Annotated[bool, Option(checks.boolean, default=False, doc="True never renews locks.")]
    backoff_strategy: Annotated[
        BackoffStrategy | None,
        Option(
            check_callable,
            bullmq="settings.backoffStrategy",
            doc="returns the delay before a retry, for jobs with a custom backoff type; see `BackoffStrategy`.",
        ),
    ]
    classify: Annotated[
        Classifier | None,
        Option(
            check_classifier,
            bullmq=None,
            doc=(
                "gets an exception of a handler and returns `bullrush.retries.RETRY` or True, ``FAIL`` or False, "
                "``Retry(delay=...)``, or None for the normal decision; such as `bullrush.classifiers.network`. It is "
                "not asked about an `UnrecoverableError` or a `TransientError`, and attempts are left to the job's "
                "options."
            ),
        ),
    ]
    settings: Annotated[
        SettingsOptions | None,
        Option(check_settings, doc='``{"backoff_strategy": ...}``, as in BullMQ.'),
    ]
    run_retry_delay: Annotated[
        Duration,
        Option(
            checks.positive_milliseconds,
            default=1_000,
            doc="the pause after Redis returned an error to a fetch; 1,000.",
        ),
    ]
    timeout: Annotated[
        Duration | None,
        Option(
            checks.positive_milliseconds,
            bullmq=None,
            doc=(
                'how long a handler may take; None is no limit. Then the job fails with "timed out after N ms" and is '
                "retried as its options say. A coroutine is cancelled and a process is killed. A plain function sees "
                "``job.cancelled``; its thread takes no other job until it has returned."
            ),
        ),
    ]
    isolation: Annotated[
        Literal["thread", "process"],
        Option(
            checks.one_of("thread", "process"),
            default="thread",
            bullmq=None,
            doc=(
                "``thread``, or ``process``: handlers run in processes, one per slot, so that a crash fails only its "
                "own job. The handler must be importable by name."
            ),
        ),
    ]
    unknown: Annotated[
        Literal["fail", "delay"],
        Option(
            checks.one_of("fail", "delay"),
            default="fail",
            bullmq=None,
            doc=(
                "with handlers by name: what happens to a job whose name has none. ``fail``: it fails for good. "
                "``delay``: it goes to ``delayed`` for 5 s, again and again, and no attempt is counted; but each time "
                "counts as a start, so that with ``max_started_attempts`` it fails in the end."
            ),
        ),
    ]
    notify: Annotated[
        bool,
        Option(
            checks.boolean,
            default=False,
            bullmq=None,
            doc=(
                "True listens to messages of other programs, on one more connection per process: a job whose lock "
                "another worker took is cancelled at once, and not when its lock would be renewed; and the worker "
                "wakes for jobs of a `Queue` with ``notify=True``. Messages are hints; nothing depends on them."
            ),
        ),
    ]
    fan_out: Annotated[
        bool,
        Option(
            checks.boolean,
            default=False,
            bullmq=None,
            doc=(
                "True wakes one idle worker per job when this worker makes several jobs ready: delayed jobs that are "
                "due, stalled jobs, parents whose children are done; see `QueueOptions`."
            ),
        ),
    ]


def core_options(
    settings: Settings,
    timeouts: Mapping[str, int] | None = None,
    lock_durations: Mapping[str, int] | None = None,
    lanes: Sequence[Lane] = (),
) -> bytes:
    """Return the options that the core reads, as JSON.

    Args:
        settings: the checked options.
        timeouts: the timeouts of jobs by name.
        lock_durations: how long their locks last, by name, where ``settings`` do not say it.
        lanes: the queues to serve; without any, the worker's own.
    """
    routing = settings.profile and {
        "profile": loads(settings.profile.canonical),
        "routes_only": settings.routes_only,
        "scan_depth": settings.scan_depth if settings.claim == "scan" else None,
    }
    renew_time = _renew_time(settings)
    made = {
        # A prefetched job needs a call when it starts, and handler processes make no calls of the worker.
        "prefetch": 0 if settings.isolation == "process" else settings.prefetch,
        "lock_renew_time": renew_time,
        "heartbeat_interval": settings.heartbeat_interval or max(1, renew_time // 2),
        "lock_durations": {**(lock_durations or {}), **(settings.lock_durations or {})},
        # As in BullMQ, 0 is no limit.
        "max_started_attempts": settings.max_started_attempts or None,
        "routing": routing,
        "timeouts": {"default": settings.timeout, "by_name": timeouts or {}},
        "lanes": [asdict(lane) for lane in lanes],
        "needed_rights": read_roles()["worker"].needed,
    }
    return encode({name: made[name] if name in made else getattr(settings, name) for name in WORKER_OPTIONS}, "options")


def _renew_time(settings: Settings) -> int:
    renew_time: int | None = settings.lock_renew_time
    return renew_time or max(1, settings.lock_duration // 2)


def _longest_interval(settings: Settings) -> int:
    longest: int = settings.lock_duration * 3 // 4 - _renew_time(settings) // 2
    return longest


def with_defaults(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a worker, and those defaults that it does not replace, by ``settings`` either."""
    replaced = {*options, *(options.get("settings") or ())}
    return {**{name: value for name, value in defaults.items() if name not in replaced}, **options}


def with_routing(options: Mapping[str, object]) -> Mapping[str, object]:
    """Return the options of a worker with those of ``routing`` among them.

    Raises:
        UnknownOptionError: ``routing`` has an option that does not exist.
        InvalidOptionError: ``routing`` is no dict, or has an option that stands beside it, too.
    """
    if (routing := options.get("routing")) is None:
        return options
    if not isinstance(routing, Mapping):
        raise InvalidOptionError(f"routing must be Routing(...) or a dict, not {shown(routing)}")
    check_known(routing, declared(Routing), "Routing")
    if twice := sorted(routing.keys() & options.keys()):
        raise InvalidOptionError(f"{', '.join(twice)}: give it in routing=, or beside it, not both")
    return {**options, **routing}


def checked_worker_options(options: Mapping[str, object]) -> Settings:
    """Check the options of a worker and fill in defaults.

    Raises:
        UnknownOptionError: an option does not exist.
        InvalidOptionError: an option has a value that cannot be used, or does not go with another one.
    """
    settings = checked_options(WorkerOptions, with_routing(options), "Worker")
    if "backoff_strategy" not in options:
        settings.backoff_strategy = (settings.settings or {}).get("backoff_strategy")
    if settings.batch_handler is None and settings.batch_size != 1:
        raise InvalidOptionError("batch_size needs a batch_handler")
    if "results_options" in options and settings.results_queue is None:
        raise InvalidOptionError("results_options needs a results_queue: they are the options of the jobs there")
    if settings.routes_only and not (settings.profile and settings.profile.self_routes()):
        raise InvalidOptionError(
            "routes_only=True needs a profile that has something, such as profile={'capabilities': ['gpu']}"
        )
    if settings.heartbeat_interval is not None and settings.heartbeat_interval > (most := _longest_interval(settings)):
        raise InvalidOptionError(
            f"heartbeat_interval must be at most {max(most, 0)} ms with this lock_duration and lock_renew_time, "
            f"not {settings.heartbeat_interval}: locks would end before they are renewed"
        )
    if settings.claim == "scan" and (settings.profile is None or settings.routes_only):
        raise InvalidOptionError(
            "claim='scan' needs a profile, and not routes_only=True: it looks for jobs of the queue itself that match"
        )
    return settings
