"""The producer and getter calls of one queue."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, final

from .arrow import RowPlan
from .events import CoreEvents
from .jobs import JobRecord, NewJobRecord, NewJobs
from .notifications import CoreNotifications
from .pending import Pending
from .reads import (
    Child,
    ChildKind,
    Condition,
    Connection,
    DueWork,
    Field,
    FoundJobs,
    FoundUsage,
    Metrics,
    Overview,
    Place,
    Scheduler,
)
from .route import CoreTarget
from .worker import Failure

class Attempt(Protocol):
    """An attempt by hand: the attributes of `bullrush.job.calls.moves.Attempt`, which are read by name."""

class Repeat(Protocol):
    """When a scheduler makes jobs: the attributes of `bullrush.scheduler.options.Repeat`, which are read by name."""

    @property
    def json(self) -> bytes: ...
    @property
    def immediately(self) -> bool: ...

class SearchLimits(Protocol):
    """The attributes of `bullrush.inspection.search.Limits`, which are read by name."""

@final
class CoreQueue:
    """Producer and getter calls of one queue.

    Connects at first use; after a fork the child makes connections of its own.
    """

    def __new__(
        cls, url: str, prefix: str, name: str, options: bytes, *,
        target: CoreTarget | None = None, worker: bytes | None = None,
    ) -> CoreQueue:  # fmt: skip
        """``options``: a `bullrush.base.handle.CoreSettings`, as JSON.

        ``worker``: the options of a worker, as JSON, with which jobs are taken and finished by hand; those of a program
            by default.

        ``target``: the queue is its route, and ``name`` is the base. Before the first write, and every 30 s while it is
        used, the route is registered (`RouteLimitError`, `RouteCollisionError`).
        """
    def add_jobs(self, jobs: NewJobs) -> Pending[None]:
        """Add jobs in parts of 250; then their records have ids.

        A part with a parent or a deduplication id is stored completely or not at all. A job alone goes together with
        others that are added while a call is in flight.
        """
    def add_flows(self, jobs: NewJobs) -> Pending[tuple[list[int], list[int]]]:
        """Add the jobs of flows, all of them or none.

        Returns the positions of the jobs that were not stored (a deduplicated job has the id of the job that replaces
        it); and among them the positions of the jobs that their parent does not wait for.
        """
    def add_arrow(self, source: object, plan: RowPlan, now: int) -> Pending[tuple[list[str], list[int]]]:
        """Add one job per row of an Arrow batch, table or stream (``__arrow_c_stream__``/``__arrow_c_array__``).

        Returns the ids and the positions of those that existed. ``now`` is the time of the add in ms. All rows are
        encoded before this returns, and sent after it.
        """
    def events(self) -> CoreEvents:
        """Return the event stream of this queue, which all callers of this process share."""
    def new_events(self, *, last_event_id: str | None, blocking_timeout: int) -> CoreEvents:
        """Return a reader of the event stream of this queue, which checks that the queue is BullMQ's.

        ``last_event_id`` None: it begins at the end of the stream at the first connect. ``blocking_timeout``: ms of one
        wait.
        """
    def notifications(self) -> CoreNotifications:
        """Return an object for messages about jobs of this queue."""
    def prepare(self) -> Pending[None]:
        """Connect, check the server and the queue, write ``meta``."""
    def redis_version(self) -> str | None:
        """Return the server's version, None before this process has connected to it."""
    def commands(
        self, commands: Sequence[Sequence[int | str | bytes]], *, repeatable: bool = True, checked: bool = True
    ) -> Pending[list[Any]]:
        """Send plain commands with full key names in one pipeline, and return their replies as Redis sent them.

        Replies are int, bytes, list or None; a map is a flat list. Any error reply is raised. ``repeatable`` False: a
        command whose reply was lost is not sent again (`OutcomeUnknownError`). ``checked`` False: without the checks of
        the first use of the queue.
        """
    # Reads without a script, each a pipeline. Names are those of queues on the same server, with the same prefix.
    def children(self, id: str, kinds_of: Sequence[ChildKind]) -> Pending[list[list[Child]]]:
        """Return all children of these kinds: the key of each, with its result or the reason of its failure."""
    def pages_of_children(
        self, id: str, pages: Sequence[tuple[ChildKind, int, int]]
    ) -> Pending[list[tuple[int, list[Child]]]]:
        """Return a page of each kind (kind, cursor, count), with the cursor of the next one, 0 at the end."""
    def count_children(self, id: str, kinds_of: Sequence[ChildKind]) -> Pending[list[int]]: ...
    def range_of_children(
        self, id: str, of_kind: ChildKind, start: int, end: int
    ) -> Pending[tuple[list[Child], list[list[Field]], int]]:
        """Return some children, the fields of each, and how many there are."""
    def keys_of_children(self, jobs: Sequence[str], limit: int) -> Pending[list[list[str]]]:
        """Return the keys of at most ``limit`` children of each kind of some jobs, which are given by their keys."""
    def hashes(self, keys: Sequence[str]) -> Pending[list[list[Field]]]:
        """Return the fields of some hashes; none of a key that does not exist."""
    def due_work(self, *, most: int | None = None, name: str | None = None, checked: bool = True) -> Pending[DueWork]:
        """Return the fields of a `DueWork`; ``most`` is the ``max`` of the worker's limiter.

        ``checked`` False: of any queue of the server, without the checks of the first use.
        """
    def overviews(
        self, names: Sequence[str], lately: int
    ) -> Pending[list[tuple[Overview | None, tuple[str, str] | None] | None]]:
        """Return per queue its overview, or the code and the text of an error; None: on another server of a cluster.

        Jobs that failed after ``lately`` count as failed lately. Without the checks of the first use.
        """
    def place(self, id: str, *, name: str | None = None) -> Pending[Place]:
        """Return the fields of a `Place`; ``name``: the job is of another queue of the server."""
    def count_states(self, states: Sequence[str]) -> Pending[list[int]]:
        """Return how many jobs are in these states, by the names of their keys."""
    def count_per_priority(self, priorities: Sequence[int]) -> Pending[list[int]]: ...
    def count_due_before(self, ms: int) -> Pending[int]: ...
    def count_open(self, names: Sequence[str], horizon: int) -> Pending[list[int]]:
        """Return how many jobs of each queue wait, are active, or are due in ``horizon`` ms by the clock of Redis."""
    def are_paused(self, names: Sequence[str]) -> Pending[list[bool]]: ...
    def last_id(self) -> Pending[int]: ...
    def rate_limit_ttl(self, most: int | None = None) -> Pending[int]: ...
    def count_finished(self, spans: Sequence[tuple[str, int | None, int | None]]) -> Pending[list[int]]:
        """Return how many jobs finished in each (state, after, until), ``after < time <= until`` in ms."""
    def times_of_finished(self, places: Sequence[tuple[str, int]]) -> Pending[list[float | None]]:
        """Return when the job at each (state, place) finished; None where there is none."""
    def job_end(self, id: str) -> Pending[tuple[bool, tuple[str, str] | None]]:
        """Return whether the job exists, and how it ended: ``completed`` and its result, or ``failed`` and why."""
    def job_fields(self, ids: Sequence[str], fields: Sequence[str]) -> Pending[list[list[bytes | None]]]:
        """Return some fields of some jobs, under their names in Redis; None where a job has none."""
    def locks(self, ids: Sequence[str]) -> Pending[list[tuple[bytes | None, int]]]:
        """Return for each job the token of its lock and its time to live (ms): -2 without a lock, -1 without an end."""
    def metrics(self, kind: str, start: int, end: int) -> Pending[Metrics]: ...
    def metric_totals(self, names: Sequence[str], kind: str) -> Pending[list[int | None]]: ...
    def stream_entries(self, after: str, until: str, count: int) -> Pending[list[tuple[str, list[tuple[str, str]]]]]:
        """Return at most ``count`` entries of the event stream after one id, up to another one."""
    def stream_ends(self) -> Pending[tuple[str | None, str | None]]:
        """Return the id of the first entry, and that of the last one that was ever added."""
    def worker_connections(self, names: Sequence[str]) -> Pending[list[Connection]]:
        """Return the connections of the workers of some queues: the queue, and the fields of CLIENT LIST."""
    def event_connections(self, names: Sequence[str]) -> Pending[list[Connection]]: ...
    def profiles(self) -> Pending[list[tuple[str, bytes]]]:
        """Return the live workers with a profile, and their entries, as JSON."""
    def scheduler(self, id: str) -> Pending[Scheduler | None]:
        """Return a scheduler: its id, when its latest job is due, its fields."""
    def schedulers(self, start: int, end: int, asc: bool) -> Pending[list[Scheduler]]: ...
    def count_schedulers(self) -> Pending[int]: ...
    def noted_crons(self) -> Pending[list[str]]: ...
    def run_lengths(self, names: Sequence[str], run: str) -> Pending[list[int]]: ...
    def held_jobs(self, run: str) -> Pending[list[tuple[str, int]]]:
        """Return the active jobs of a run, with the ms until their locks end."""
    def count_unfinished(self, ids: Sequence[str]) -> Pending[int]: ...
    def batch_counts(self, names: Sequence[str], batch_id: str) -> Pending[list[int]]: ...
    def place_of_batch(self, batch_id: str) -> Pending[str | None]: ...
    def server_time(self) -> Pending[int]:
        """Return the clock of Redis, in ms."""
    def ping(self) -> Pending[None]: ...
    def is_replica(self) -> Pending[bool]: ...
    def masters(self, *, checked: bool = True) -> Pending[list[tuple[str, list[tuple[int, int]]]]]:
        """Return the masters of a cluster, with the first and the last slot of each of their parts."""
    def scan_queues(
        self, cursor: int, count: int, end: str, *, kind: str | None = None, checked: bool = True
    ) -> Pending[tuple[int, list[bytes]]]:
        """Return the keys ``<prefix>:*<end>`` among about ``count`` keys, and where to go on, 0 at the end."""
    # Writes without a script.
    def cancel_job(self, id: str, reason: str) -> Pending[bool]: ...
    def deduplication_owner(self, deduplication_id: str) -> Pending[str | None]: ...
    def free_deduplication_id(self, deduplication_id: str) -> Pending[int]: ...
    def end_rate_limit(self) -> Pending[int]: ...
    def remove_old_priorities(self) -> Pending[int]: ...
    def trim_events(self, most: int) -> Pending[int]: ...
    def publish_event(self, most: int, fields: Sequence[tuple[bytes, bytes]]) -> Pending[None]:
        """Publish an event; sent once (`OutcomeUnknownError`)."""
    def attempt_write(self) -> Pending[None]:
        """Look whether the server takes writes, and change nothing."""
    def note_cron(self, definition: str) -> Pending[None]: ...
    def forget_crons(self, definitions: Sequence[str]) -> Pending[None]: ...
    def note_place(self, batch_id: str, place: str) -> Pending[None]: ...
    def missing_rights(self, commands: Sequence[str]) -> Pending[list[str]]:
        """Return which of these commands (in lower case, a subcommand after a bar) the user of the URL may not run.

        They are the words of an ACL rule: ``+hset``, ``+script|load``; or ``~bull:mail:*``, if it may not use the keys
        of the queue. One round trip. Before Redis 7 the commands are tried on a key that is gone at the end.
        """
    def legacy_users(self) -> Pending[list[str]]:
        """Return who uses the queue.

        Three texts: the flavour of Bull (``Bull 2.x``, ``Bull 1.x or 2.x``, ``Bull 3.x or 4.x``, ``Bull``) and what
        shows it, both "" without evidence of Bull; ``1`` if BullMQ's keys are there, else "".
        """
    def legacy_clients(self) -> Pending[list[str]]:
        """Return the connections of programs with Bull: the address and the role of each, one after the other."""
    def legacy_calls(
        self, script: str, calls: Sequence[Sequence[int | str | bytes]], other: tuple[str, str] | None = None
    ) -> Pending[list[Any]]:
        """Run a script of ``lua/legacy`` once per item of ``calls``, its ARGV, in one pipeline.

        Return the replies in order.

        Writes the queue's ``meta`` before, unless the handle skips it. ``other``: prefix and name of the other queue
        that the script touches (KEYS[2]). Any error reply is raised after all calls ran.
        """
    def get_job(self, id: str) -> Pending[JobRecord | None]: ...
    def get_jobs(self, types: Sequence[str], start: int, end: int, asc: bool) -> Pending[list[JobRecord | None]]: ...
    def search(
        self,
        states: Sequence[str],
        conditions: Sequence[Condition],
        after: tuple[int, list[str], int] | None,
        limits: SearchLimits,
    ) -> Pending[FoundJobs]:
        """Go on with a search of a state, which is one key or several, until one of the limits is reached."""
    def matching(self, ids: Sequence[str], conditions: Sequence[Condition]) -> Pending[list[str]]:
        """Return those of some jobs that fit."""
    def get_ranges(self, types: Sequence[str], start: int, end: int, asc: bool) -> Pending[list[str]]: ...
    def get_counts(self, types: Sequence[str]) -> Pending[list[int]]: ...
    def get_state(self, id: str) -> Pending[str]: ...
    def get_job_logs(self, id: str, start: int, end: int, asc: bool) -> Pending[tuple[list[str], int]]: ...
    def is_paused(self) -> Pending[bool]: ...
    def get_meta(self) -> Pending[dict[str, str]]: ...
    def pause(self) -> Pending[None]: ...
    def resume(self) -> Pending[None]: ...
    def update_data(self, id: str, data: bytes) -> Pending[None]: ...
    def update_progress(self, id: str, progress: bytes, row: tuple[str, int | None] | None = None) -> Pending[None]:
        """``row``: a text that is also appended to the log, and how many rows are kept (None = all)."""
    def add_log(self, id: str, row: str, keep: int | None, own: bool = False) -> Pending[int]: ...
    def clear_logs(self, id: str, keep: int | None) -> Pending[None]: ...
    def change_delay(self, id: str, delay: int) -> Pending[None]: ...
    def change_priority(self, id: str, priority: int, lifo: bool) -> Pending[None]: ...
    def promote(self, id: str) -> Pending[None]: ...
    def promote_many(self, ids: Sequence[str]) -> Pending[list[str]]: ...
    def promote_jobs(self, count: int) -> Pending[None]: ...
    def promote_due(self, limit: int) -> Pending[int]: ...
    def remove(self, id: str, remove_children: bool, seen: tuple[str, str] | None = None) -> Pending[int]:
        """Remove a job; with ``seen`` only if it is still in this state and finished at this time, "" if it has not."""
    def retry(
        self,
        id: str,
        state: str,
        lifo: bool,
        reset_made: bool,
        reset_started: bool,
        finished_on: str | None = None,
    ) -> Pending[None]:
        """Move a finished job back to wait; with ``finished_on`` only if it still finished at this time."""
    def retry_jobs(self, state: str, count: int, timestamp: int) -> Pending[None]: ...
    def drain(self, delayed: bool) -> Pending[None]: ...
    def clean(self, state: str, cutoff: int, limit: int | None, *, quiet: bool = False) -> Pending[list[str]]: ...
    def remove_orphaned_jobs(self, ids: Sequence[str]) -> Pending[int]: ...
    def sweep_orphaned_jobs(self, count: int, limit: int) -> Pending[int]:
        """Find and remove orphaned jobs, ``limit`` of them at most (0 is all).

        Scan about ``count`` keys per round trip.
        """
    def remove_child_dependency(self, id: str, parent_key: str) -> Pending[bool]: ...
    def remove_deduplication_key(self, id: str, deduplication_id: str) -> Pending[bool]: ...
    def remove_unprocessed_children(self, id: str) -> Pending[None]: ...
    def obliterate(self, force: bool, count: int) -> Pending[None]:
        """Remove the queue, which must be paused. A route gives up its place in the registry of its base."""
    def upsert_job_scheduler(
        self, id: str, repeat: Repeat, job: NewJobs, opts: bytes, metadata: bytes | None = None
    ) -> Pending[NewJobRecord | None]:
        """Create or update a job scheduler, and return its next job; None when its schedule is over.

        ``job``: one job with the name and the data of all. ``opts``: their options as the template keeps them, as JSON
        with BullMQ's names; ``metadata`` is JSON, for the next job only.

        Raises:
            InvalidOptionError: the pattern or the time zone cannot be read; raised by this call itself.
        """
    def remove_job_scheduler(self, id: str, oldest_stem: str | None = None) -> Pending[bool]: ...
    def route_names(self, retired: bool) -> Pending[list[str]]:
        """Return the names of the registered routes; ``retired``: and of those that have retired."""
    def count_in_routes(self, types: Sequence[str]) -> Pending[list[int]]:
        """Return the jobs of each state in all routes together, also in those that have retired."""
    def route_status(self) -> Pending[str]:
        """Return the routes as JSON: a list of [queue, target, waiting, age of the oldest or null, workers].

        A target has its fallback with it.
        """
    def rate_limit(self, expire_ms: int) -> Pending[None]: ...
    def provide_wake_hint(self, count: int) -> Pending[int]: ...
    def consume_wake_hint(self, want: int) -> Pending[int]: ...
    def set_global_concurrency(self, concurrency: int | None) -> Pending[int]:
        """Set the limit; None removes it. Returns how many settings were added or removed."""
    def set_global_rate_limit(self, limit: tuple[int, int] | None) -> Pending[int]:
        """Set the limit, as (max, duration ms); None removes it. Returns how many settings were added or removed."""
    # Named limits. A limit is its name and what its keys are called.
    def set_limit(self, name: str, settings: str) -> Pending[None]: ...
    def remove_limit(self, name: str) -> Pending[bool]: ...
    def limits(self) -> Pending[dict[str, str]]: ...
    def limit_usage(self, names: Sequence[tuple[str, str]]) -> Pending[list[FoundUsage]]: ...
    def hold_limits(self, names: Sequence[tuple[str, str]], ms: int) -> Pending[int]: ...
    def take_limits(
        self, grant: str, lease_ms: int, limits: Sequence[tuple[tuple[str, str], int]]
    ) -> Pending[tuple[Literal["at", "later", "full", "never"], int, int]]:
        """``limits``: each with its cost. Returns what came of it, a number about that, and the place of the limit.

        The number is when it was taken, in how many ms the rates allow it (later, full), or the most that a window ever
        allows (never).
        """
    def spend_limits(self, grant: str, limits: Sequence[tuple[tuple[str, str], int]]) -> Pending[bool]:
        """``limits``: each with the cost that was used."""
    # Moves of an active job by its own handler. They check the lock token; token "0" skips the check.
    def move_to_delayed(self, id: str, token: str, delay: int) -> Pending[None]: ...
    def move_to_wait(self, id: str, token: str) -> Pending[int]: ...
    def move_to_waiting_children(self, id: str, token: str, child_key: str | None) -> Pending[bool]: ...
    def extend_lock(self, id: str, token: str, duration: int) -> Pending[bool]: ...
    # A worker's fetch and finish, one call at a time.
    def get_next_job(self, token: str, block: bool) -> Pending[JobRecord | None]: ...
    def move_to_completed(self, attempt: Attempt, value: bytes, fetch_next: bool) -> Pending[JobRecord | None]: ...
    def move_to_failed(
        self, attempt: Attempt, failure: Failure, fetch_next: bool
    ) -> Pending[tuple[tuple[int, int] | None, str, str, JobRecord | None]]:
        """Return the next attempt, the reason, the job's stack traces and the next job; see `CoreWorker.fail`.

        The next attempt is its delay and when it is due, None if the job has failed for good.
        """
    def not_admitted(self, record: JobRecord) -> tuple[str, str] | None:
        """Return the class and the reason of the error with which a job must fail that may not run; None: it may."""
    @staticmethod
    def needs_strategy(opts: bytes, made: int) -> str | None:
        """Return the backoff type if only a custom strategy knows the delay after attempt ``made`` + 1, else None."""
    def take_warnings(self) -> list[str]:
        """Return what happened since the last call and belongs in the log."""
    def extend_job_locks(self) -> Pending[list[str]]: ...
    def move_stalled_jobs_to_wait(self) -> Pending[list[str]]: ...
    def connect_worker(self) -> Pending[None]:
        """Check the server and the queue, and open the connection by which others find a worker.

        `get_next_job` does this, too.
        """
    def disconnect_worker(self) -> None:
        """Close that connection until it is needed again."""
    def end_waits(self, hurries: bool) -> Pending[None] | None:
        """End pending waits for a job, and close that connection.

        Then wake another worker, unless it ``hurries``. None: nothing was done by hand.
        """
