"""The rounds of tasks in which a run works a queue."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bullrush.errors import BullrushError, DrainError, QueuePausedError
from bullrush.spark.draining.driver_queries import ask
from bullrush.spark.draining.held_jobs import release_jobs, still_held
from bullrush.spark.draining.run_worker import STATS, RunWorker
from bullrush.spark.root_cause import root_cause
from bullrush.spark.routing.unmatched import check_matched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Enough rows for every default partition.
_SEEDS: Final = 10_000
_MAX_STALLED: Final = 1
#: How many ids a warning has.
_NAMED: Final = 10

_log: Final = logging.getLogger("bullrush")


@dataclass
class Rounds:
    """The rounds of tasks of one run."""

    spark: SparkSession
    worker: RunWorker
    workers: int | None
    #: How many tasks the first round had.
    tasks: int = 0

    def run(self) -> None:
        """Run tasks until no active job belongs to the run.

        Raises:
            QueuePausedError: the queue was paused meanwhile.
            DrainError: a task failed.
        """
        try:
            self._run()
        except BullrushError:
            raise
        except Exception as error:  # of Spark, about its tasks
            run = self.worker.run
            raise DrainError(
                f"the tasks of run {run} on queue {self.worker.address.name!r} failed: {root_cause(error)}. The jobs "
                f"that it finished are in Redis: read_jobs(..., processed_by={run!r})",
                run,
            ) from error

    def _run(self) -> None:
        worker, workers = self.worker, self.workers
        limit = worker.stop["max_seconds"]
        ends = None if limit is None else time.monotonic() + limit
        most_stalls = worker.options.get("max_stalled_count", _MAX_STALLED)
        profiles: set[str] = set()
        number = 1
        while True:
            done = seeds(self.spark, workers).mapInArrow(worker, STATS).collect()
            self.tasks = self.tasks or len(done)
            profiles |= {row.profile for row in done if row.profile}
            if paused := next((row.paused for row in done if row.paused), None):
                raise QueuePausedError(
                    f"queue {paused!r} was paused while run {worker.run} drained it. The jobs that it "
                    "finished are in Redis; resume the queue and drain it again, or give paused='wait'"
                )
            left = None if ends is None else ends - time.monotonic()
            if left is not None and left <= 0:
                self._end_in_time(profiles)
                return
            released = ask(self.spark, worker.address, release_jobs, worker.run, most_stalls, left, worker.has_routes)
            left = None if ends is None else ends - time.monotonic()
            if released is None or (left is not None and left <= 0):
                self._end_in_time(profiles)
            if not released or (left is not None and left <= 0):
                return
            number += 1
            _log.info(
                "drain of %s, run %s: round %d, since tasks that ended early had left %d jobs active",
                worker.address.name,
                worker.run,
                number,
                released,
            )
            worker, workers = self._next(released, left)

    def _end_in_time(self, profiles: Iterable[str]) -> None:
        """Tell what is left when the time is over.

        Raises:
            DrainError: jobs wait in routes that no worker matches.
        """
        self._warn_of_held()
        if self.worker.has_routes and self.worker.stop["until"] == "drained":
            check_matched(self.spark, self.worker.address, self.worker.stop["horizon"], profiles, self.worker.run)

    def _warn_of_held(self) -> None:
        """Name the jobs that still were active when the time was over."""
        address, run = self.worker.address, self.worker.run
        if held := ask(self.spark, address, still_held, run, self.worker.has_routes):
            more = f" and {len(held) - _NAMED:,} more" if len(held) > _NAMED else ""
            _log.warning(
                "drain of %s, run %s: jobs were still active when max_seconds was over: %s%s. They go back to the "
                "queue when their locks have expired",
                address.name,
                run,
                ", ".join(held[:_NAMED]),
                more,
            )

    def _next(self, released: int, seconds: float | None) -> tuple[RunWorker, int]:
        """Return the worker of another round, and how many of them."""
        stop = {**self.worker.stop, "max_seconds": seconds}
        if stop["max_jobs"] is not None:
            # One worker, which takes no more jobs than were left.
            return replace(self.worker, stop={**stop, "until": stop["until"] or "empty", "max_jobs": released}), 1
        slots = self.worker.options["concurrency"] * self.worker.options.get("batch_size", 1)
        return replace(self.worker, stop=stop), max(1, min(self.tasks, math.ceil(released / slots)))


def seeds(spark: SparkSession, workers: int | None) -> DataFrame:
    """Return rows for this number of tasks; by default for as many as Spark runs at the same time."""
    return spark.range(0, workers, 1, workers) if workers else spark.range(_SEEDS)
