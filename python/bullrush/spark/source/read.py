"""Reading a queue as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from bullrush.arrow import Window, plan_windows
from bullrush.spark.source.jobs import JobReader
from bullrush.spark.source.messages import rows_with_readable_errors, with_readable_errors
from bullrush.spark.source.options import ReadOptions
from bullrush.spark.source.reach import check_reachable

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType


class Part(InputPartition):
    """What one task reads."""

    def __init__(self, windows: Sequence[Window]) -> None:
        super().__init__(windows)
        self.windows = windows


class BatchReader(DataSourceReader):
    """Reads jobs of some states. It is made on the driver, and pickled to the tasks."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._jobs = JobReader(options.address, schema, options.processed_by)

    @with_readable_errors
    def partitions(self) -> Sequence[InputPartition]:
        """Plan the tasks, on the driver."""
        options = self._options
        check_reachable(options.address)
        with options.address.open() as queue:
            parts = plan_windows(queue, options.states, options.num_partitions, finished_after=options.finished_after)
        return [Part(windows) for windows in parts]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """Read in a task."""
        if not isinstance(partition, Part):  # what Spark makes when there is nothing to read
            return iter(())
        return rows_with_readable_errors(self._jobs.read(partition.windows))
