"""Reads the jobs of a run as rows, each time an action needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bullrush.arrow import ArrowReader
from bullrush.errors import RunExpiredError
from bullrush.spark.address import Address
from bullrush.spark.draining.small_memory import few_reservations

if TYPE_CHECKING:
    import pyarrow

#: The column with the name of the worker that ran a job last, which begins with its run.
WORKER: Final = "processedBy"


@dataclass(frozen=True)
class RunRows:
    """The function for ``mapInArrow`` that reads the parts whose numbers it gets.

    Ids may be used again, and jobs may run again. So a job whose last worker is not of the run counts as removed.

    Attributes:
        address: the queue.
        run: the run.
        start: the place in the run's list of the first job.
        stop: the place after the last job.
        parts: how many parts of about the same size there are.
        columns: the columns to read.
        returns: more columns, from the fields of the results; None for none.
    """

    address: Address
    run: str
    start: int
    stop: int
    parts: int
    columns: pyarrow.Schema
    returns: pyarrow.Schema | None

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Read parts.

        Raises:
            RunExpiredError: the run's list is shorter than it was.
        """
        import pyarrow as pa

        # An empty batch first, since Spark needs the columns even if there is no job.
        yield _empty([*self.columns, *(self.returns or ())])
        columns = self.columns.append(pa.field(WORKER, pa.string()))
        with few_reservations(), self.address.open() as queue:
            for batch in batches:
                for part in batch.column(0).to_pylist():
                    yield from self._read(ArrowReader(queue, columns, returns=self.returns), part)

    def _read(self, reader: ArrowReader, part: int) -> Iterator[pyarrow.RecordBatch]:
        count = self.stop - self.start
        start, stop = (self.start + count * number // self.parts for number in (part, part + 1))
        missing = stop - start
        for rows in reader.run(self.run, start, stop):
            missing -= rows.num_rows
            yield self._of_run(rows)
        if missing:
            raise RunExpiredError(
                f"{missing:,} of the {count:,} results are gone: the list of the run {self.run} in queue "
                f"{self.address.name!r} was removed, or it was older than 7 days. Write results that you need longer to "
                "a table, or cache them"
            )

    def _of_run(self, rows: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """Return the rows without the column of the workers; those of other workers as removed jobs."""
        import pyarrow as pa
        import pyarrow.compute as pc

        mine = pc.fill_null(pc.starts_with(rows.column(WORKER), f"{self.run}."), False)
        rows = rows.select([name for name in rows.schema.names if name != WORKER])
        if pc.all(mine).as_py():
            return rows
        kept = {"jobId": rows.column("jobId")}
        kept["state"] = pc.if_else(mine, rows.column("state"), "removed")
        # Rows at a place that is null are null. This works for all types, nested ones too.
        nulls = rows.take(pc.if_else(mine, pa.array(range(rows.num_rows)), pa.scalar(None, pa.int64())))
        columns = [kept.get(name, column) for name, column in zip(rows.schema.names, nulls.columns, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=rows.schema)


def _empty(fields: list[pyarrow.Field]) -> pyarrow.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in fields], schema=pa.schema(fields))
