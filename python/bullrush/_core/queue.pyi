"""The producer and getter calls of one queue."""

from collections.abc import Sequence
from typing import Any, final

from .arrow import RowPlan
from .events import CoreEvents
from .jobs import JobRecord, Link, NewJob, NewJobs
from .notifications import CoreNotifications
from .pending import Pending
from .route import CoreTarget

@final
class CoreQueue:
    """Producer and getter calls of one queue. Connects at first use; after a fork the child makes connections of its own."""

    def __new__(
        cls, url: str, prefix: str, name: str, *,
        max_len_events: int = 10_000, skip_metas_update: bool = False, allow_legacy: bool = False, timeout_ms: int | None = ...,
        target: CoreTarget | None = None, fan_out: bool = False, notify: bool = False,
        durable: str | None = None, payload_limit: int | None = None,
    ) -> CoreQueue:  # fmt: skip
        """``timeout_ms``: how long one round trip may take, with connecting; None waits forever.

        ``target``: the queue is its route, and ``name`` is the base. Before the first write, and every 30 s while it is
        used, the route is registered (`RouteLimitError`, `RouteCollisionError`).
        """
    def add_job(self, job: NewJob) -> Pending[str]:
        """Add one job and return its id. Jobs that are added while another call is in flight go together in the next call."""
    def add_jobs(self, jobs: NewJobs) -> Pending[None]:
        """Add many jobs in parts of 250; then their records have ids."""
    def add_linked_jobs(
        self, jobs: Sequence[tuple[NewJob, Link]], whole: bool
    ) -> Pending[tuple[list[str], list[int], list[int]]]:
        """Add jobs with a parent, children or a deduplication id, in parts of 250. Each part is stored completely or not at all.

        ``whole``: all jobs in one part. Returns the ids; the positions of the jobs that were not stored (a deduplicated job has the id
        of the job that replaces it); and among them the positions of the jobs that their parent does not wait for.
        """
    def add_arrow(self, source: object, plan: RowPlan, now: int) -> Pending[tuple[list[str], list[int]]]:
        """Add one job per row of an Arrow batch, table or stream (``__arrow_c_stream__``/``__arrow_c_array__``).

        Returns the ids and the positions of those that existed. ``now`` is the time of the add in ms. All rows are
        encoded before this returns, and sent after it.
        """
    def events(self) -> CoreEvents:
        """Return the event stream of this queue, which all callers of this process share."""
    def notifications(self) -> CoreNotifications:
        """Return an object for messages about jobs of this queue."""
    def prepare(self) -> Pending[None]:
        """Connect, check the server and the queue, write ``meta``."""
    def redis_version(self) -> str | None:
        """Return the server's version, None before this process has connected to it."""
    def commands(
        self, commands: Sequence[Sequence[int | str | bytes]], *, repeatable: bool = True, checked: bool = True
    ) -> Pending[list[Any]]:
        """Send plain commands in one pipeline, each with its full key names, and return their replies as Redis sent them.

        Replies are int, bytes, list or None; a map is a flat list. Any error reply is raised. ``repeatable`` False: a command whose
        reply was lost is not sent again (`OutcomeUnknownError`). ``checked`` False: without the checks of the first use of the queue.
        """
    def missing_rights(self, commands: Sequence[str]) -> Pending[list[str]]:
        """Return which of these commands (in lower case, a subcommand after a bar) the user of the URL may not run.

        They are the words of an ACL rule: ``+hset``, ``+script|load``; or ``~bull:mail:*``, if it may not use the keys of the
        queue. One round trip. Before Redis 7 the commands are tried on a key that is gone at the end.
        """
    def legacy_users(self) -> Pending[list[str]]:
        """Return who uses the queue.

        Three texts: the flavour of Bull (``Bull 2.x``, ``Bull 1.x or 2.x``, ``Bull 3.x or 4.x``, ``Bull``) and what shows
        it, both "" without evidence of Bull; ``1`` if BullMQ's keys are there, else "".
        """
    def legacy_calls(
        self, script: str, calls: Sequence[Sequence[int | str | bytes]], other: tuple[str, str] | None = None
    ) -> Pending[list[Any]]:
        """Run a script of ``lua/legacy`` once per item of ``calls``, its ARGV, in one pipeline; return the replies in order.

        Writes the queue's ``meta`` before, unless the handle skips it. ``other``: prefix and name of the other queue that the
        script touches (KEYS[2]). Any error reply is raised after all calls ran.
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
    def update_progress(self, id: str, progress: bytes, row: tuple[str, int | None] | None = None) -> Pending[None]:
        """``row``: a text that is also appended to the log, and how many rows are kept (None = all)."""
    def add_log(self, id: str, row: str, keep: int | None, own: bool = False) -> Pending[int]: ...
    def clear_logs(self, id: str, keep: int | None) -> Pending[None]: ...
    def change_delay(self, id: str, delay: int) -> Pending[None]: ...
    def change_priority(self, id: str, priority: int, lifo: bool) -> Pending[None]: ...
    def promote(self, id: str) -> Pending[None]: ...
    def promote_jobs(self, count: int) -> Pending[None]: ...
    def promote_due(self, limit: int) -> Pending[int]: ...
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
        """Remove the queue, which must be paused. A route gives up its place in the registry of its base."""
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

        ``repeat``, ``data`` and ``opts`` are JSON with BullMQ's names; ``metadata`` is JSON, for the next job only. Returns the next
        job's id, timestamp, delay, priority and opts.

        Raises:
            InvalidOptionError: the pattern or the time zone cannot be read; raised by this call itself.
        """
    def remove_job_scheduler(self, id: str, oldest_stem: str | None = None) -> Pending[bool]: ...
    def route_names(self, retired: bool) -> Pending[list[str]]:
        """Return the names of the registered routes; ``retired``: and of those that have retired."""
    def count_in_routes(self, types: Sequence[str]) -> Pending[list[int]]:
        """Return the jobs of each state in all routes together, also in those that have retired."""
    def route_status(self) -> Pending[str]:
        """Return the routes as JSON: a list of [queue, target with its fallback, waiting, age of the oldest or null, workers]."""
    def rate_limit(self, expire_ms: int) -> Pending[None]: ...
    def provide_wake_hint(self, count: int) -> Pending[int]: ...
    def consume_wake_hint(self, want: int) -> Pending[int]: ...
    def set_global_concurrency(self, concurrency: int | None) -> Pending[int]:
        """Set the limit; None removes it. Returns how many settings were added or removed."""
    def set_global_rate_limit(self, limit: tuple[int, int] | None) -> Pending[int]:
        """Set the limit, as (max, duration ms); None removes it. Returns how many settings were added or removed."""
    # Moves of an active job by its own handler. They check the lock token; token "0" skips the check.
    def move_to_delayed(self, id: str, token: str, delay: int) -> Pending[None]: ...
    def move_to_wait(self, id: str, token: str) -> Pending[int]: ...
    def move_to_waiting_children(self, id: str, token: str, child_key: str | None) -> Pending[bool]: ...
    def extend_lock(self, id: str, token: str, duration: int) -> Pending[bool]: ...
