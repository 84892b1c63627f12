"""The stream of finished jobs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import InputPartition

from bullrush.arrow import Window
from bullrush.spark.source.jobs import JobReader
from bullrush.spark.source.messages import DataSourceError
from bullrush.spark.source.options import StreamOptions
from bullrush.spark.source.stream.finished_jobs import FinishedJobs
from bullrush.spark.source.stream.offsets import Offset, Offsets

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType


class Part(InputPartition):
    """The jobs of one window, for one task."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.window = window


class FinishedSource:
    """Reads each job once, in the order of the finish times.

    The stream stays ``lagMs`` behind Redis' clock, so that jobs of workers with slower clocks are there when it passes.
    Replays read the same jobs again, while they are kept.
    """

    def __init__(self, options: StreamOptions, schema: StructType) -> None:
        self._options = options
        self._reader = JobReader(options.address, schema)

    def initial(self) -> Offset:
        """Return where a new query begins."""
        return self._offsets().initial()

    def target(self) -> Offset:
        """Return the end of all jobs that are finished now. Before that, wait until no more are expected before it."""
        jobs = self._jobs()
        now, lag = jobs.now(), self._options.lag_ms
        # A worker whose clock is fast may have written a time that is still to come.
        last = min(jobs.last(self._options.states) or 0, now + lag)
        until = max(now, last)
        while (ahead := until + lag - jobs.now()) > 0:
            time.sleep(ahead / 1000)
        return dict.fromkeys(self._options.states, until)

    def latest(self, start: Offset | None, limit: int | None, target: Offset | None) -> Offset:
        """Return the end of the next micro-batch."""
        offsets = self._offsets()
        until = offsets.settled() if target is None else max(target[state] for state in self._options.states)
        return offsets.all(until) if start is None else offsets.next(start, until, limit)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return windows of about the same number of jobs."""
        jobs = self._jobs()
        windows = self._offsets().windows(start, end)
        return [Part(part) for part in jobs.share(windows, self._options.num_partitions)]

    def read(self, partition: Any) -> Iterator[pyarrow.RecordBatch]:
        """Read the jobs of one window.

        Raises:
            DataSourceError: there are fewer than were planned.
        """
        window: Window = partition.window
        rows = 0
        for batch in self._reader.read([window]):
            rows += batch.num_rows
            yield batch
        if rows < window.size and self._options.fail_on_data_loss:
            raise DataSourceError(
                f"{window.size - rows} of {window.size} {window.state} jobs were removed or retried before they were "
                "read. Keep jobs for longer, or set failOnDataLoss to false to go on without them."
            )

    def _jobs(self) -> FinishedJobs:
        return FinishedJobs(self._options.address.open())

    def _offsets(self) -> Offsets:
        return Offsets(self._options, self._jobs())
