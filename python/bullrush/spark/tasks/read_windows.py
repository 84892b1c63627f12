"""Reading windows of jobs, on an executor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bullrush.arrow import ArrowReader, Window
from bullrush.spark.address import Address

if TYPE_CHECKING:
    import pyarrow

_WORKER = "processedBy"


@dataclass(frozen=True)
class ReadWindows:
    """Yields the jobs of some parts of a queue. Each input row is the number of a part.

    Attributes:
        address: the queue.
        schema: the columns.
        parts: the windows of each part.
        processed_by: only jobs that this worker has processed, or a worker of a drain with this ``run``.
    """

    address: Address
    schema: pyarrow.Schema
    parts: Sequence[Sequence[Window]]
    processed_by: str | None = None

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Read the parts whose numbers the batches have."""
        for batch in batches:
            for part in batch.column(0).to_pylist():
                yield from self.read(self.parts[part])

    def read(self, windows: Sequence[Window]) -> Iterator[pyarrow.RecordBatch]:
        """Read the jobs of these windows; jobs that were removed meanwhile are left out."""
        # Imported here, since this module is also imported where there is no Arrow.
        import pyarrow as pa

        names, schema = self.schema.names, self.schema
        if self.processed_by is not None and _WORKER not in names:
            schema = schema.append(pa.field(_WORKER, pa.string()))
        reader = ArrowReader(self.address.open(), schema, skip_removed=True)
        for window in windows:
            for batch in window.read(reader):
                rows = batch if self.processed_by is None else self._filtered(batch).select(names)
                if rows.num_rows:
                    yield rows

    def _filtered(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        import pyarrow.compute as pc

        workers = batch.column(_WORKER)
        wanted = pc.or_(pc.equal(workers, self.processed_by), pc.starts_with(workers, f"{self.processed_by}."))
        return batch.filter(wanted)
