"""The worker engine, and the options that it obeys."""

from typing import Any, Protocol, final

from .jobs import JobRecord
from .pending import Pending

class Failure(Protocol):
    """Why an attempt failed: the attributes of `bullrush.job.failure.Failure`, which are read by name."""

@final
class WorkerEvent:
    """One event of a worker. What an event does not have is empty.

    Attributes:
        kind: ``completed`` (text: the result, JSON; finished_on), ``failed`` (for good; text: the reason; finished_on,
            stacktrace), ``retried`` (text, stacktrace, delay, next_run_at), ``refused`` (fails without being run): all
            with record, details and error_class. ``stalled`` (id, queue), ``cancelled`` and ``lock_lost`` (id, token),
            ``scheduler_repaired`` (id), ``route_unmatched`` (queue: the route; count: its jobs; age of the oldest, ms),
            ``rights`` (rights: those that are missing), ``notice``, ``warning`` and ``error`` (text), ``reconnecting``
            (text, code, ends: the run), ``connected`` (again), ``evicts`` (text: the policy), ``checks_skipped``
            (count: percent), ``dropped`` (count: events that nobody took), ``ready`` (once per run), ``drained``,
            ``closed``.
    """

    @property
    def kind(self) -> str: ...
    @property
    def record(self) -> JobRecord | None: ...
    @property
    def details(self) -> Any: ...
    @property
    def error_class(self) -> str | None: ...
    @property
    def id(self) -> str: ...
    @property
    def token(self) -> str: ...
    @property
    def queue(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def ends(self) -> bool: ...
    @property
    def stacktrace(self) -> bytes: ...
    @property
    def finished_on(self) -> int: ...
    @property
    def delay(self) -> int: ...
    @property
    def next_run_at(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def age(self) -> int: ...
    @property
    def rights(self) -> list[str]: ...

@final
class CoreWorker:
    """The worker engine of one queue. Python takes jobs and hands in outcomes; the native thread does the rest."""

    def __new__(
        cls, url: str, prefix: str, name: str, options: bytes, *, worker_id: str, concurrency: int
    ) -> CoreWorker:
        """``options``: JSON of all `WORKER_OPTIONS`. ``worker_id``: the prefix of the lock tokens.

        No two workers may share it.
        """
    def start(self, *, until: str | None, max_jobs: int | None, max_seconds: float | None, horizon: int) -> None:
        """Start fetching.

        Raises:
            RuntimeError: it was started before, or this is a forked child of the process that made it.
        """
    def take(self, max: int, wait_ms: int) -> list[JobRecord] | None:
        """Return 1..max jobs, [] after ``wait_ms``, None when no job will come any more.

        Tries without releasing the GIL first.
        """
    def fileno(self) -> int:
        """Return a descriptor that is readable while jobs can be taken or the end is reached (for asyncio)."""
    def rearm(self) -> None:
        """Clear the descriptor; call before draining with ``take(n, 0)``."""
    def complete(self, record: JobRecord, value: bytes, details: object = None) -> None:
        """Hand in a result (JSON). ``details`` comes back with the event, if outcomes are reported.

        Raises:
            ClosedError: the worker has ended without waiting for this job; another worker will run it again.
        """
    def discard(self, record: JobRecord) -> None:
        """Do not retry the job if Redis refuses its result and it fails for that."""
    def fail(self, record: JobRecord, failure: Failure, details: object = None) -> None:
        """Hand in a failure. ``retry`` False = unrecoverable; ``delay`` overrides the job's backoff (-1: do not retry).

        ``details``: see `complete`.
        """
    def needs_strategy(self, record: JobRecord) -> str | None:
        """Return the backoff type if only a custom strategy can compute this job's delay, else None."""
    def release(self, record: JobRecord) -> None:
        """Forget a job that its handler has moved elsewhere (delayed, waiting, waiting-children)."""
    def give_back(self, record: JobRecord) -> None:
        """Give a job back to the front of ``wait``: its handler will not finish it."""
    def defer(self, record: JobRecord, delay: int) -> None:
        """Move a job to ``delayed`` for ``delay`` ms; no attempt is counted."""
    def rate_limited(self, record: JobRecord) -> None:
        """Give back a job, and all jobs that no handler has started, to the front of ``wait``.

        Fetch nothing until the rate limit ends.
        """
    def cancel(self, id: str, reason: str) -> bool:
        """Ask the handler of a job to stop; False if this worker does not hold the job or has asked before."""
    def held_ids(self) -> list[str]:
        """Return the ids of all jobs that this worker holds."""
    def next_event(self, wait_ms: int) -> WorkerEvent | None: ...
    def report_outcomes(self, wanted: bool) -> None:
        """Queue an event for every job that completes or fails from now on, or stop doing so."""
    def report_failures(self, wanted: bool) -> None:
        """Queue an event for every failed attempt from now on, also without `report_outcomes`, or stop doing so."""
    def set_concurrency(self, concurrency: int) -> None: ...
    def pause(self) -> None:
        """Stop fetching; jobs that no handler has started go back to the queue."""
    def limit(self, ms: int, queue: str) -> None:
        """Fetch nothing of a queue for ``ms``; its jobs that no handler has started go back."""
    def record_start(self, record: JobRecord) -> Pending[None] | None:
        """Write the start of a job that was claimed ahead and has started.

        None: it is written already, as for the first jobs of a fetch.
        """
    def resume(self) -> None: ...
    def close(self, timeout_ms: int | None, force: bool) -> Pending[None]:
        """Stop fetching, give back unstarted jobs, wait for running ones until the deadline, and cancel them.

        Then send outcomes, and stop the renewal of locks.

        Raises:
            BullrushError: the worker could not work at all (legacy queue, server too old...).
        """
    def missing_rights(self) -> list[str]:
        """Return the rights that the user of the URL lacks, as words of an ACL rule: ``+hset``, ``~bull:mail:*``."""
    def full_queues(self) -> list[str]:
        """Return the queues of which the worker holds as many jobs as it may.

        Those without a limit of their own are left out.
        """
    def refusal(self) -> str | None:
        """Return the code with which Redis refuses to give jobs or to take outcomes, such as ``OOM``.

        None while it does not.
        """
    def unmatched_routes(self) -> dict[str, int]:
        """Return how many jobs are in routes without a worker, by the name of the route.

        Empty unless this worker looks after the routes.
        """
    def stats(self) -> dict[str, int]:
        """Return counts since start: completed, failed, retried, fetched, calls, scans_exhausted, stalled (jobs that
        were put back), stalled_skipped, schedulers_repaired, renewed and renewals_failed (locks), reconnects, and,
        when it has ended, abandoned: jobs that it left unfinished.

        And locks that were lost: lost_by_message, lost_by_renewal, lost_by_expired, lost_by_finish.

        And the present state: in_hand, isolated (1: slots are free, and a job runs or will run alone), overdue,
            deadlines, and events undelivered; dropped counts events that nobody took. answer_age and
        claim_age: ms since the last reply to a fetch, and since the last one with jobs; -1 if there was none.

        And for each of wait, fetch and renewal, such as wait_age: ms since one came round or began, or -1;
        revived_by_wait: how often the worker connected anew since none came round; deaf_in_wait: 1 if none has come
            round since.
        """
    def histograms(self) -> dict[str, tuple[list[int], float]]:
        """Return "duration" (of handlers) and "wait" (of jobs, from due to first start) since start.

        Each is the counts per range, and the sum in seconds.
        """
    @staticmethod
    def histogram_limits() -> list[float]:
        """Return the upper limits (inclusive) of the ranges of `histograms` in s; the last range has none."""
    def script_histograms(self) -> dict[str, tuple[list[int], float]]:
        """Return the same of its calls of scripts, by their names: from the wish to call to the reply."""
    @staticmethod
    def script_histogram_limits() -> list[float]:
        """Return the upper limits of the ranges of `script_histograms`; see `histogram_limits`."""
