"""Reading a queue as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from bullrush.queue.queue import Queue
from pyspark_bullrush.finished_jobs import FinishedJobs, Window
from pyspark_bullrush.jobs import JobReader
from pyspark_bullrush.messages import told, told_rows
from pyspark_bullrush.options import FINISHED, ReadOptions

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType


class Part(InputPartition):
    """Jobs of one state for one task: of a window of time if they are finished, else by their positions."""

    def __init__(self, state: str, start: int, stop: int) -> None:
        super().__init__(state)
        self.state = state
        self.start = start
        self.stop = stop


class BatchReader(DataSourceReader):
    """Reads jobs of some states. It is made on the driver, and pickled to the tasks."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._jobs = JobReader(options.address, schema, processed_by=options.processed_by)
        self._jobs.check()

    @told
    def partitions(self) -> Sequence[InputPartition]:
        """Plan the tasks, on the driver.

        Finished jobs are divided by the time at which they finished, which does not change: each is read once, also if
        others finish meanwhile. Other jobs are divided by their positions, from which they move away.
        """
        with self._options.address.open() as queue:
            return [*self._finished(queue), *self._unfinished(queue)]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """Read in a task."""
        if not isinstance(partition, Part):  # what Spark makes when there is nothing to read
            return iter(())
        read = self._jobs.scores if partition.state in FINISHED else self._jobs.ranks
        return told_rows(read(partition.state, partition.start, partition.stop))

    def _finished(self, queue: Queue) -> list[InputPartition]:
        jobs = FinishedJobs(queue)
        states = [state for state in self._options.states if state in FINISHED]
        last = jobs.last(states)
        after = self._options.finished_after if self._options.finished_after is not None else -1
        if last is None or last <= after:
            return []
        counts = jobs.counts([(state, after, last) for state in states])
        windows = [Window(state, after, last, count) for state, count in zip(states, counts, strict=True)]
        return [Part(part.state, part.after, part.until) for part in jobs.share(windows, self._options.num_partitions)]

    def _unfinished(self, queue: Queue) -> list[InputPartition]:
        states = [state for state in self._options.states if state not in FINISHED]
        if not states:
            return []
        counts = queue.get_job_counts(*states)
        parts: list[InputPartition] = []
        for state in states:
            step = -(-counts[state] // self._options.num_partitions)
            parts += [Part(state, start, start + step) for start in range(0, counts[state], max(1, step))]
        return parts
