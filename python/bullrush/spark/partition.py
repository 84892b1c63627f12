"""A worker inside a Spark task: it runs the jobs of a queue and yields their results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Literal

from bullrush.extending import JobCalls
from bullrush.routing import Profile
from bullrush.spark.address import Address
from bullrush.spark.draining.arguments import check_worker, read_stop, worker_options
from bullrush.spark.draining.deadline import ends_in_time
from bullrush.spark.draining.outbox import Outbox
from bullrush.spark.draining.stopwatch import Stopwatch
from bullrush.spark.draining.thread_stacks import limit_thread_stacks
from bullrush.spark.results import ROUTED_SCHEMA, SCHEMA, JobResult, profile_row, to_batch
from bullrush.spark.routing.profiles import in_task
from bullrush.worker import Worker

if TYPE_CHECKING:
    import pyarrow

_NOTHING: Final = object()


def worker(
    queue: str,
    handler: Callable[[Any], Any] | None = None,
    *,
    url: str | None = None,
    prefix: str | None = None,
    until: Literal["empty", "drained"] | None = "drained",
    max_jobs: int | None = None,
    max_seconds: float | None = None,
    horizon: int = 60_000,
    profile: Profile | Callable[[], Profile] | None = None,
    **options: Any,
) -> PartitionWorker:
    """Return a function for ``rdd.mapPartitions`` or ``df.mapInArrow`` that runs the jobs of a queue in each task.

    ``sc.parallelize(range(16), 16).mapPartitions(worker("emails", send, max_seconds=600))`` gives an RDD of
    `JobResult`; ``df.mapInArrow(fn, fn.schema)`` gives the same as columns, with ``result`` as JSON. The content of the
    partitions does not matter, but an empty partition gets no worker. Spark runs the function again for each action on
    its result; `drain` runs it once.

    Args:
        queue: the queue's name.
        handler: called with each job, as for `Worker`. Leave it out to give ``batch_handler``.
        url: the URL of Redis for the executors; ``env:NAME`` and ``file:/path`` are read there. The default is that of
            `Queue`.
        prefix: the prefix of the queue's keys, ``bull`` by default.
        until: ``drained`` also waits for jobs on other workers and for jobs that are due within ``horizon``; ``empty``
            ends when there is nothing to take; None goes on until ``max_jobs`` or ``max_seconds``.
        max_jobs: the number of jobs after which the worker ends.
        max_seconds: the time in seconds after which it ends. Handlers may go on for one ``lock_duration`` more; a job
            that still runs then goes back to the queue when its lock has expired.
        horizon: ms; jobs that are due within this time count for ``until="drained"``.
        profile: what the worker has, as for `Worker`: it also runs the jobs of the routes that match. A dict; or a
            function without arguments that is called inside the task, where ``TaskContext.get().resources()`` has the
            addresses of its GPUs. ``fn.schema`` then ends with the column ``queue``.
        options: more options of `Worker`: ``concurrency``, ``batch_handler``, ``lock_duration``, ``limiter``...

    Raises:
        InvalidOptionError: an option is wrong, or none of ``until``, ``max_jobs`` and ``max_seconds`` is given.
    """
    stop = read_stop(until, max_jobs, max_seconds, horizon)
    address = Address.on_driver(queue, url, prefix)
    options = worker_options(options, profile)
    check_worker("worker", address, handler, options)
    return PartitionWorker(address, handler, options, stop)


class PartitionWorker:
    """The result of `worker`. It can be pickled (as its configuration); the call makes the worker."""

    def __init__(
        self,
        address: Address,
        handler: Callable[[Any], Any] | None,
        options: dict[str, Any],
        stop: dict[str, Any],
        *,
        tells_profile: bool = False,
    ) -> None:
        self._tells_profile = tells_profile
        self.address = address
        self._handler = handler
        self._options = options
        self.stop = stop
        self.has_routes: bool = "profile" in options

    @property
    def schema(self) -> str:
        """The columns of its result for ``mapInArrow``."""
        return ROUTED_SCHEMA if self.has_routes else SCHEMA

    def __call__(self, rows: Iterable[Any]) -> Iterator[Any]:
        """Run the jobs.

        Returns `JobResult` objects for rows, and batches with the columns of `schema` for Arrow batches.
        """
        rows = iter(rows)
        first = next(rows, _NOTHING)
        if first is _NOTHING:
            return
        for _ in rows:
            pass  # all rows must be read, since Spark's writer waits for the reader
        if hasattr(first, "__arrow_c_array__"):
            yield from self._batches()
        else:
            for results in self._results(in_task(self._options)):
                yield from results

    def _batches(self) -> Iterator[pyarrow.RecordBatch]:
        options = in_task(self._options)
        # A batch first, since Spark needs the columns even if there is no job.
        yield to_batch(profile_row(options["profile"]) if self._tells_profile else [], queues=self.has_routes)
        for results in self._results(options):
            yield to_batch(results, queues=self.has_routes)

    def _results(self, given: dict[str, Any]) -> Iterator[list[JobResult]]:
        """Yield results until the worker ends. If the reader stops, the worker is closed."""
        with self.address.open() as queue:
            queue.wait_until_ready()  # fails if Redis cannot be reached; a worker would wait for it without limit
        stopwatch = Stopwatch()
        timed = {"handler": self._handler, "batch_handler": given.get("batch_handler")}
        timed = {name: stopwatch.around(function) for name, function in timed.items() if function is not None}
        options = {**given, **timed, "url": self.address.opened_url(), "prefix": self.address.prefix}
        worker = Worker(self.address.name, options.pop("handler", None), **options)
        outbox = Outbox[JobResult](full=worker.pause, empty=worker.resume)

        def completed(job: JobCalls, result: Any) -> None:
            ms = stopwatch.take(job)
            outbox.put(JobResult(job.id, job.name, "completed", result, None, job.attempts_made, ms, job.queue_name))

        def failed(job: JobCalls, error: BaseException) -> None:
            ms = stopwatch.take(job)
            if job.finished_on is not None:  # otherwise it is retried
                made, reason = job.attempts_made, str(error)
                outbox.put(JobResult(job.id, job.name, "failed", None, reason, made, ms, job.queue_name))

        worker.on("completed", completed)
        worker.on("failed", failed)
        running = threading.Thread(target=outbox.feed, args=(lambda: worker.run(**self.stop),), name="bullrush-run")
        with limit_thread_stacks(), ends_in_time(worker, self.stop, given):
            running.start()
            try:
                yield from outbox
            finally:
                # Unstarted jobs go back to the queue, also after a `limit` or an error downstream.
                worker.close()
                running.join()
