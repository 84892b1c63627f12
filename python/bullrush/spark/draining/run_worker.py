"""Runs one worker of a run in a Spark task. The results stay in Redis."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from bullrush.errors import ConnectionLostError
from bullrush.queue import Queue
from bullrush.spark.address import Address
from bullrush.spark.draining.deadline import ends_in_time
from bullrush.spark.draining.driver_queries import paused_queue
from bullrush.spark.draining.thread_stacks import limit_thread_stacks
from bullrush.spark.routing.profiles import in_task
from bullrush.spark.routing.queues import queues_of
from bullrush.worker import RunStats, Worker

if TYPE_CHECKING:
    import pyarrow

#: The row of each task, as a Spark schema; `profile` is JSON.
STATS: Final = "completed long, failed long, retried long, paused string, profile string"

#: Seconds between two signs of life: Spark may be set to end a silent Python process.
_BEAT: Final = 5.0
#: A queue that was paused at this many beats, one after another, is taken for paused.
_PAUSED_BEATS: Final = 2


@dataclass(frozen=True)
class RunWorker:
    """The function of `drain` for ``mapInArrow``: one row with counts per task.

    Attributes:
        address: the queue.
        handler: the handler, None if the options have a ``batch_handler``.
        options: the options of the worker.
        stop: the arguments of `Worker.run`.
        run: the run that lists the finished jobs. The worker is named ``<run>.<id of the task attempt>``.
        waits: wait while the queue is paused; otherwise the worker ends.
        beat: seconds between two signs of life.
    """

    address: Address
    handler: Callable[[Any], Any] | None
    options: dict[str, Any]
    stop: dict[str, Any]
    run: str
    waits: bool = False
    beat: float = _BEAT

    def __call__(self, rows: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Run the jobs. Empty batches are signs of life."""
        # All rows must be read, since Spark's writer waits for the reader. An empty partition gets no worker.
        if sum(batch.num_rows for batch in rows):
            with limit_thread_stacks():
                yield from self._work()

    def _work(self) -> Iterator[pyarrow.RecordBatch]:
        nothing = _row(0, 0, 0, None, None).slice(0, 0)
        options = in_task(self.options)
        yield nothing
        with self.address.open() as queue:
            queue.wait_until_ready()  # fails if Redis cannot be reached; a worker would wait for it without limit
            worker = self._worker(options)
            ended: list[RunStats | BaseException] = []
            running = threading.Thread(target=_run, args=(worker, self.stop, ended), name="bullrush-run")
            running.start()
            beats, paused = 0, None
            with ends_in_time(worker, self.stop, self.options):
                try:
                    while running.is_alive() and beats < _PAUSED_BEATS:
                        running.join(self.beat)
                        yield nothing
                        paused = self._paused(queue) if running.is_alive() and not self.waits else None
                        beats = beats + 1 if paused else 0
                finally:
                    worker.close()
                    running.join()
        if isinstance(ended[0], BaseException):
            raise ended[0]
        stats = ended[0]
        profile = orjson.dumps(options["profile"]).decode() if self.has_routes else None
        yield _row(stats.completed, stats.failed, stats.retried, paused if beats >= _PAUSED_BEATS else None, profile)

    @property
    def has_routes(self) -> bool:
        """Whether the worker serves routes of the queue, too."""
        return "profile" in self.options

    def _paused(self, queue: Queue) -> str | None:
        try:
            return paused_queue(queue, queues_of(queue, self.has_routes))
        except ConnectionLostError:  # the worker waits for Redis as well
            return None

    def _worker(self, options: dict[str, Any]) -> Worker:
        from pyspark import TaskContext

        context = TaskContext.get()
        name = f"{self.run}.{context.taskAttemptId() if context else 0}"
        options = {**options, "name": name, "run": self.run}
        return Worker(
            self.address.name,
            self.handler,
            url=self.address.opened_url(),
            prefix=self.address.prefix,
            **options,
        )


def _run(worker: Worker, stop: dict[str, Any], ended: list[RunStats | BaseException]) -> None:
    try:
        ended.append(worker.run(**stop))
    except BaseException as error:
        ended.append(error)


def _row(completed: int, failed: int, retried: int, paused: str | None, profile: str | None) -> pyarrow.RecordBatch:
    import pyarrow as pa

    names = ("completed", "failed", "retried")
    numbers = [pa.array([number], pa.int64()) for number in (completed, failed, retried)]
    texts = [pa.array([text], pa.string()) for text in (paused, profile)]
    return pa.RecordBatch.from_arrays([*numbers, *texts], [*names, "paused", "profile"])
