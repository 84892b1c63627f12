"""The compiled core: connections, scripts, timers and the worker engine, all off the GIL."""

from collections.abc import Callable, Iterable, Sequence
from types import GenericAlias
from typing import Any, Generic, TypeAlias, TypeVar, final

_T = TypeVar("_T", covariant=True)

__version__: str

#: What queues say about their writer, as BullMQ's do.
BULLMQ_VERSION: str

#: One job to add: name, data (JSON), opts (JSON, short names), custom id or None, timestamp, delay, priority, lifo.
NewJob: TypeAlias = tuple[str, bytes, bytes, str | None, int, int, int, bool]

#: What a job belongs to: the queue's prefix with the colon ("" = this queue), whether its id was made for it, whether it waits for
#: children, its parent's key and JSON, its deduplication's id, ttl (ms or 0) and flags (e, r, k).
Link: TypeAlias = tuple[str, bool, bool, tuple[str, str] | None, tuple[str, int, str] | None]

def now_ms() -> int:
    """Return the wall clock in ms, the time of every BullMQ field."""

def stop_clock(at: int | None) -> None:
    """Let `now_ms` stand at one moment in the whole process, for tests; None lets it run."""

def cron_next(pattern: str, tz: str | None, after: int) -> int | None:
    """Return when a cron pattern fires next after a moment, both in ms since 1970; None for never. ``tz`` None is the local zone.

    Raises:
        InvalidOptionError: the pattern or the time zone cannot be read.
    """

def script_sources() -> dict[str, tuple[str, str]]:
    """Return every Lua script as ``{"family/name": (source, sha1)}``, exactly as it is sent to Redis."""

@final
class Completions:
    """Wakes an asyncio loop when operations finish: one file descriptor for all of them."""

    def __new__(cls) -> Completions: ...
    def fileno(self) -> int:
        """Return the descriptor that becomes readable when a token is ready."""
    def drain(self) -> list[int]:
        """Return the tokens that became ready and clear the descriptor."""

@final
class Pending(Generic[_T]):
    """One operation in flight."""

    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    def wait(self, timeout_ms: int | None = None) -> _T:
        """Block without the GIL until the result is there; signals are honoured in the main thread.

        Raises:
            TimeoutError: not done within ``timeout_ms``; the operation goes on.
        """
    def done(self) -> bool: ...
    def result(self) -> _T:
        """Return the result or raise the error of a finished operation."""
    def notify(self, completions: Completions, token: int) -> None:
        """Hand ``token`` to ``completions`` when done (at once if it is done already)."""
    def abandon(self) -> None:
        """Say that nobody will take the result: an event or a job that it brings goes to the next caller. Others go on as before."""

@final
class JobRecord:
    """A job as Redis holds it: raw bytes, decoded by the caller when needed."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def data(self) -> bytes: ...
    @property
    def opts(self) -> bytes: ...
    @property
    def token(self) -> str | None:
        """The lock token, for a job that a worker of this process holds."""
    @property
    def cancelled(self) -> bool:
        """True once the lock is proven lost, the worker's close deadline has passed, or the job was cancelled."""
    @property
    def cancel_reason(self) -> str | None:
        """Why the job was cancelled, or which time is over."""
    @property
    def settled(self) -> bool:
        """True once an outcome was handed in: any further one is dropped."""
    def fields(self) -> dict[str, bytes]:
        """Return all raw hash fields."""
    def get(self, field: str) -> bytes | None:
        """Return one raw hash field (``atm``, ``failedReason``...), None when absent."""

@final
class NewJobs:
    """Many jobs to add, checked and encoded in one pass, in one buffer that their records share, with ids once they were added.

    ``compile`` gives compiled options and a job id; ``prepare`` gives jobs that are not plain dicts of a name and JSON, and links.
    """

    def __new__(
        cls, jobs: Iterable[Any], timestamp: int, compile: Callable[..., Any], prepare: Callable[..., Any]
    ) -> NewJobs: ...
    def __len__(self) -> int: ...
    def names(self, most: int) -> list[str]: ...
    def records(self) -> list[NewJobRecord]: ...

@final
class NewJobRecord:
    """One of many jobs as it was sent."""

    id: str
    name: str
    data: bytes
    opts: bytes
    token: None
    cancelled: bool
    cancel_reason: None
    def get(self, field: str) -> bytes | None: ...

@final
class AutoIds:
    """Gives rows ids ``<scope>.<xxh3-128 of the row's JSON>.<k>`` that depend on content, not on row order.

    ``k`` counts equal rows, over all calls that get this object: keep one for all batches of one partition.
    """

    def __new__(cls, scope: str) -> AutoIds: ...

@final
class CoreQueue:
    """Producer and inspection calls on one queue. Connects at first use; follows its process over a fork."""

    def __new__(
        cls, url: str, prefix: str, name: str, *,
        max_len_events: int = 10_000, skip_metas_update: bool = False, timeout_ms: int | None = ...,
    ) -> CoreQueue:  # fmt: skip
        """``timeout_ms``: how long a round trip of a call may take, connecting included; None waits for ever."""
    def add_job(self, job: NewJob) -> Pending[str]:
        """Add one job and answer its id. Jobs that come while the call of another is on its way share the next call."""
    def add_jobs(self, jobs: NewJobs) -> Pending[None]:
        """Add many jobs in parts of 250; then their records know their ids."""
    def add_linked_jobs(
        self, jobs: Sequence[tuple[NewJob, Link]], whole: bool
    ) -> Pending[tuple[list[str], list[int], list[int]]]:
        """Add jobs that belong to others, in parts of 250 that are each stored as a whole; ``whole``: all in one part.

        The second list also holds the positions of deduplicated jobs, whose ids are those of the jobs that go in for them; the third
        holds those of the jobs that their parent does not wait for.
        """
    def add_arrow(
        self, source: object, name: str | None, name_column: str | None, data_columns: Sequence[str] | None,
        id_column: str | None, auto_ids: AutoIds | None, opts: bytes, timestamp: int, delay: int, priority: int,
        lifo: bool, link: Link | None,
    ) -> Pending[tuple[list[str], list[int]]]:  # fmt: skip
        """Add one job per row of an Arrow batch, table or stream (``__arrow_c_stream__``/``__arrow_c_array__``).

        ``id_column`` gives custom ids; else ``auto_ids`` does; else ids are Redis' counter. All rows are encoded before
        this returns, and sent after it.
        """
    def prepare(self) -> Pending[None]:
        """Connect, check the server and the queue, write ``meta``."""
    def redis_version(self) -> str | None:
        """Return the server's version, None before the first connection of this process to it."""
    def commands(
        self, commands: Sequence[Sequence[int | str | bytes]], *, repeatable: bool = True
    ) -> Pending[list[Any]]:
        """Send plain commands in one pipeline, each with its full key names, and return their replies as Redis sent them.

        Replies are int, bytes, list or None; a map is a flat list. Any error reply is raised. ``repeatable`` False: a command whose
        reply was lost is not sent again (`OutcomeUnknownError`).
        """
    def get_job(self, id: str) -> Pending[JobRecord | None]: ...
    def get_jobs(self, types: Sequence[str], start: int, end: int, asc: bool) -> Pending[list[JobRecord | None]]: ...
    def get_ranges(self, types: Sequence[str], start: int, end: int, asc: bool) -> Pending[list[str]]: ...
    def get_counts(self, types: Sequence[str]) -> Pending[list[int]]: ...
    def get_state(self, id: str) -> Pending[str]: ...
    def get_job_logs(self, id: str, start: int, end: int, asc: bool) -> Pending[tuple[list[str], int]]: ...
    def is_paused(self) -> Pending[bool]: ...
    def get_meta(self) -> Pending[dict[str, str]]: ...
    def pause(self) -> Pending[None]: ...
    def resume(self) -> Pending[None]: ...
    def update_data(self, id: str, data: bytes) -> Pending[None]: ...
    def update_progress(self, id: str, progress: bytes) -> Pending[None]: ...
    def add_log(self, id: str, row: str, keep: int | None) -> Pending[int]: ...
    def clear_logs(self, id: str, keep: int | None) -> Pending[None]: ...
    def change_delay(self, id: str, delay: int) -> Pending[None]: ...
    def change_priority(self, id: str, priority: int, lifo: bool) -> Pending[None]: ...
    def promote(self, id: str) -> Pending[None]: ...
    def promote_jobs(self, count: int) -> Pending[None]: ...
    def remove(self, id: str, remove_children: bool) -> Pending[int]: ...
    def retry(self, id: str, state: str, lifo: bool, reset_made: bool, reset_started: bool) -> Pending[None]: ...
    def retry_jobs(self, state: str, count: int, timestamp: int) -> Pending[None]: ...
    def drain(self, delayed: bool) -> Pending[None]: ...
    def clean(self, state: str, cutoff: int, limit: int | None) -> Pending[list[str]]: ...
    def remove_orphaned_jobs(self, ids: Sequence[str]) -> Pending[int]: ...
    def remove_child_dependency(self, id: str, parent_key: str) -> Pending[bool]: ...
    def remove_deduplication_key(self, id: str, deduplication_id: str) -> Pending[bool]: ...
    def remove_unprocessed_children(self, id: str) -> Pending[None]: ...
    def obliterate(self, force: bool, count: int) -> Pending[None]:
        """Remove the queue, which must be paused."""
    def upsert_job_scheduler(
        self,
        id: str,
        repeat: bytes,
        immediately: bool,
        name: str,
        data: bytes,
        opts: bytes,
        metadata: bytes | None = None,
    ) -> Pending[tuple[str, int, int, int, bytes] | None]:
        """Create or update a job scheduler; None when its schedule is over.

        ``repeat``, ``data`` and ``opts`` are JSON under BullMQ's names; ``metadata`` is that of the next job alone, JSON. Returns the next job's id, timestamp, delay, priority and opts.

        Raises:
            InvalidOptionError: at once: the pattern or the time zone cannot be read.
        """
    def remove_job_scheduler(self, id: str, oldest_stem: str | None = None) -> Pending[bool]: ...
    def rate_limit(self, expire_ms: int) -> Pending[None]: ...
    def set_global_concurrency(self, concurrency: int | None) -> Pending[int]:
        """Set the limit, None lifts it. Answers how many settings that added or removed; so does the next one."""
    def set_global_rate_limit(self, limit: tuple[int, int] | None) -> Pending[int]:
        """``limit``: (max, duration ms), None lifts it."""
    # token-checked moves of an active job by its own handler; token "0" skips the check
    def move_to_delayed(self, id: str, token: str, delay: int) -> Pending[None]: ...
    def move_to_wait(self, id: str, token: str) -> Pending[int]: ...
    def move_to_waiting_children(self, id: str, token: str, child_key: str | None) -> Pending[bool]: ...
    def extend_lock(self, id: str, token: str, duration: int) -> Pending[bool]: ...

@final
class WorkerTerms:
    """The options of a worker, as `CoreWorker` and `ManualWork` obey them."""

    def __new__(
        cls,
        *,
        prefetch: int | None = None, lock_duration: int = 30_000, lock_renew_time: int = 15_000,
        stalled_interval: int = 30_000, max_stalled_count: int = 1, max_started_attempts: int | None = None,
        limiter: tuple[int, int] | None = None, timeout: int | None = None, drain_delay: int = 5_000,
        remove_on_complete: tuple[int, int | None] | None = None, remove_on_fail: tuple[int, int | None] | None = None,
        metrics_max_points: int | None = None, worker_name: str | None = None, skip_stalled_check: bool = False,
        run_retry_delay: int = 1_000, skip_lock_renewal: bool = False, max_backoff: int | None = 3_600_000, max_error_size: int = 65_536,
    ) -> WorkerTerms:  # fmt: skip
        """``remove_on_*``: (count, age seconds), count -1 = keep all. Times in ms. The defaults are those of a worker without options."""

@final
class ManualWork:
    """A worker's fetch and finish, one call at a time. Connects at first use; follows its process over a fork."""

    def __new__(cls, url: str, prefix: str, name: str, terms: WorkerTerms) -> ManualWork: ...
    def get_next_job(self, token: str, block: bool) -> Pending[JobRecord | None]: ...
    def move_to_completed(
        self, id: str, token: str, opts: bytes, value: bytes, fetch_next: bool
    ) -> Pending[JobRecord | None]: ...
    def move_to_failed(
        self,
        id: str, token: str, opts: bytes, made: int, stacktrace: bytes | None,
        reason: str, stack: str, retry: bool, delay: int | None, fetch_next: bool,
    ) -> Pending[tuple[int | None, str, JobRecord | None]]:  # fmt: skip
        """Return (ms until it is retried or None, the job's stack traces, the next job); see `CoreWorker.fail`."""
    @staticmethod
    def needs_strategy(opts: bytes, made: int) -> str | None:
        """The backoff type when only a custom strategy can compute the delay after ``made`` attempts and one more, else None."""
    def extend_job_locks(self) -> Pending[list[str]]: ...
    def move_stalled_jobs_to_wait(self) -> Pending[list[str]]: ...
    def appear(self) -> Pending[None]:
        """Check the server and the queue, and open the connection by which others find a worker. `get_next_job` does so, too."""
    def withdraw(self) -> None:
        """Close that connection until it is needed again."""
    def close(self) -> None:
        """End pending waits for a job, and that connection."""

@final
class ConnectionWatch:
    """Tells of outages of the connection that all calls of this process and URL share. Does not connect by itself."""

    def __new__(cls, url: str) -> ConnectionWatch: ...
    def next(self) -> Pending[None]:
        """Wait for the next outage, or for `close`.

        Raises:
            ConnectionLostError: there is no connection; raised once per outage.
        """
    def close(self) -> None: ...

@final
class CoreEvents:
    """Reads the event stream of one queue on a connection of its own, for one process."""

    def __new__(
        cls, url: str, prefix: str, name: str, *, last_event_id: str | None, blocking_timeout: int
    ) -> CoreEvents:
        """``last_event_id`` None: the end of the stream as of the first connection. ``blocking_timeout``: ms of one wait."""
    def start(self) -> None:
        """Connect and find where to begin. Entries are read once somebody listens or waits."""
    def ready(self, timeout_ms: int) -> Pending[None]:
        """Wait until it is known where to begin."""
    def listen(self) -> CoreListening:
        """Listen to what comes after the last entry that was told."""
    def outcome(self, job_id: str, timeout_ms: int, late: bool) -> Pending[tuple[str, str] | None]:
        """Wait for the end of a job, from the moment of this call on: (completed, returnvalue), (failed, reason), (removed, state).

        ``late``: an end that was told before will do. The result is None after ``timeout_ms``; `ClosedError` is raised when reading ends.
        """
    def close(self) -> None: ...

@final
class CoreListening:
    """One listener's place in the stream."""

    def next(self, timeout_ms: int | None = None) -> Pending[list[tuple[str, dict[str, str]]] | None]:
        """Wait for entries, each an id and fields: [] after ``timeout_ms``, None at the end; raises what troubles the reading."""
    def leave(self, seen: str | None = None) -> None:
        """Listen no more. If nobody else does, whoever comes next gets what follows ``seen``."""

#: One thing that happened in a worker: (kind, record or None, text, number, stack traces (JSON), ``left``, class of an error the core made).
#: Kinds: "completed" (text = returnvalue JSON, number = finished on), "failed" (for good; text = reason, number = finished on), "retried"
#: (number = delay), "refused" (will fail without being run), "stalled" and "scheduler_repaired" and "lock_lost" (text = id), "drained", "error"
#: (text), "ready" (once per run), "cancelled" (text = token, a space, id), "reconnecting" (text), "connected" (again), "closed".
WorkerEvent: TypeAlias = tuple[str, JobRecord | None, str, int, bytes | None, object, str | None]

@final
class CoreWorker:
    """The worker engine of one queue. Python takes jobs and hands back outcomes; all else happens on its native thread."""

    def __new__(
        cls, url: str, prefix: str, name: str, terms: WorkerTerms, *, worker_id: str, concurrency: int
    ) -> CoreWorker:
        """``worker_id``: how lock tokens begin; no two workers may share it."""
    def start(self, *, until: str | None, max_jobs: int | None, max_seconds: float | None, horizon: int) -> None:
        """Start fetching. Raises RuntimeError when started before, or in a forked child of the process that made it."""
    def take(self, max: int, wait_ms: int) -> list[JobRecord] | None:
        """Return 1..max jobs, [] after ``wait_ms``, None when no job will come any more. Tries without releasing the GIL first."""
    def fileno(self) -> int:
        """A descriptor that is readable while jobs can be taken or the end is reached (for asyncio)."""
    def rearm(self) -> None:
        """Clear the descriptor; call before draining with ``take(n, 0)``."""
    def complete(self, record: JobRecord, value: bytes, left: object = None) -> None:
        """Hand in a result (JSON). ``left`` comes back with the event, if outcomes are reported.

        Raises:
            ClosedError: the worker has ended without waiting for this job; another worker will run it again.
        """
    def fail(self, record: JobRecord, reason: str, stack: str, retry: bool, delay: int | None, left: object = None) -> None:  # fmt: skip
        """Hand in a failure. ``retry`` False = unrecoverable; ``delay`` overrides the job's backoff (-1: do not retry); ``left``: as in `complete`."""
    def needs_strategy(self, record: JobRecord) -> str | None:
        """The backoff type when only a custom strategy can compute this job's delay, else None."""
    def release(self, record: JobRecord) -> None:
        """Forget a job that its handler has moved elsewhere (delayed, waiting, waiting-children)."""
    def give_back(self, record: JobRecord) -> None:
        """Give a job back to the front of ``wait``: its handler will not finish it."""
    def rate_limited(self, record: JobRecord) -> None:
        """Give a job back to the front of ``wait``, and all that no handler has started; fetch nothing until the limiter has run out."""
    def cancel(self, id: str, reason: str) -> bool:
        """Tell the handler of a job in hand to stop; False if it is not in hand or was told before."""
    def held_ids(self) -> list[str]:
        """Return the ids of all jobs in hand."""
    def next_event(self, wait_ms: int) -> WorkerEvent | None: ...
    def report_outcomes(self, wanted: bool) -> None:
        """Queue an event for every job that completes or fails from now on, or no more."""
    def set_concurrency(self, concurrency: int) -> None: ...
    def pause(self) -> None:
        """Fetch no more; jobs that no handler has started go back to the queue."""
    def limit(self, ms: int) -> None:
        """Fetch nothing for so long; jobs that no handler has started go back to the queue."""
    def put_start_on_record(self, record: JobRecord) -> Pending[None] | None:
        """Stamp a job that was claimed ahead and has started; None: it is stamped, as the first ones of a fetch are."""
    def resume(self) -> None: ...
    def close(self, timeout_ms: int | None, force: bool) -> Pending[None]:
        """Stop fetching, give back unstarted jobs, wait for running ones up to the deadline, cancel, flush outcomes, stop the heartbeat.

        Raises:
            BullrushError: why the worker could not work at all (legacy queue, server too old...).
        """
    def stats(self) -> dict[str, int]:
        """Counts since start: completed, failed, retried, fetched, calls, stalled_skipped, schedulers_repaired.

        And what there is now: in_hand, overdue, deadlines, and outcomes undelivered; dropped counts events that nobody picked up.
        """
