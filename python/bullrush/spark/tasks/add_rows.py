"""What the tasks of `enqueue` run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bullrush.arrow import ArrowWriter
from bullrush.queue.queue import Queue
from bullrush.spark.address import Address

if TYPE_CHECKING:
    import pyarrow

#: The columns of what a task returns.
COUNTS: Final = "rows long, skipped long, counted long"


@dataclass(frozen=True)
class AddRows:
    """Adds the rows of one partition.

    Attributes:
        address: the queue.
        columns: the names of the columns; Spark itself knows them by other names.
        batch_id: the batch that counts the jobs.
        scope: the part of automatic ids before the content, None for ids from a column.
        by_partition: the number of the partition follows the scope.
        options: the options of `ArrowWriter`.
    """

    address: Address
    columns: Sequence[str]
    batch_id: str
    scope: str | None
    by_partition: bool
    options: dict[str, Any]

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Add the rows, and return how many there were and what the batch has counted up to now."""
        # Imported here, since this module is also imported where there is no Spark.
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        scope = self.scope
        if scope is not None and self.by_partition:
            scope = f"{scope}.{context.partitionId() if context else 0}"
        queue = self.address.open()
        rows, counted = 0, 0
        with ArrowWriter(queue, id_scope=scope, batch_id=self.batch_id, **self.options) as writer:
            for batch in batches:
                rows += batch.num_rows
                writer.write(batch.rename_columns(list(self.columns)))
        if rows:
            # Read after the last row: the greatest number of all tasks is that of the whole batch.
            counted = read_count(queue, self.batch_id)
        yield pa.RecordBatch.from_pydict({"rows": [rows], "skipped": [writer.skipped], "counted": [counted]})


@dataclass(frozen=True)
class ReadCount:
    """Returns what a batch has counted up to now. A task reads it, since the driver may not reach Redis."""

    address: Address
    batch_id: str

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Read the counter, once for each row."""
        import pyarrow as pa

        for batch in batches:
            counted = read_count(self.address.open(), self.batch_id)
            yield pa.RecordBatch.from_pydict({"counted": [counted] * batch.num_rows})


def read_count(queue: Queue, batch_id: str) -> int:
    """Return how many jobs of a batch were really added."""
    (counted,) = queue.core.commands([["GET", queue.to_key(f"ext:enq-{batch_id}")]]).wait()
    return int(counted or 0)
