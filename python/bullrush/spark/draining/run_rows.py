"""Reads the jobs of a run as rows, each time an action needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from bullrush.arrow import ArrowReader
from bullrush.errors import RunExpiredError
from bullrush.spark.address import Address
from bullrush.spark.draining.thread_stacks import limit_thread_stacks

if TYPE_CHECKING:
    import pyarrow

#: The column with the name of the worker that ran a job last, which begins with its run.
WORKER: Final = "processedBy"
#: The column with the queue of a job: the base, or a route.
QUEUE: Final = "queue"


class Piece(NamedTuple):
    """Some of the jobs of a run in one queue: its name, their first place in its list, the place after the last."""

    queue: str
    start: int
    stop: int


def divided(pieces: Iterable[Piece], size: int) -> list[list[Piece]]:
    """Divide pieces into parts with ``size`` jobs each; the last part may have fewer."""
    parts: list[list[Piece]] = [[]]
    room = size
    for queue, start, stop in pieces:
        while start < stop:
            if not room:
                parts.append([])
                room = size
            end = min(stop, start + room)
            parts[-1].append(Piece(queue, start, end))
            room -= end - start
            start = end
    return parts


@dataclass(frozen=True)
class RunRows:
    """The function for ``mapInArrow`` that reads the parts whose numbers it gets.

    Ids may be used again, and jobs may run again. So a job whose last worker is not of the run counts as removed.

    Attributes:
        address: the queue.
        run: the run.
        parts: the parts, see `divided`.
        columns: the columns to read; `QUEUE` is the name of the job's queue.
        returns: more columns, from the fields of the results; None for none.
    """

    address: Address
    run: str
    parts: Sequence[Sequence[Piece]]
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
        read = [field for field in self.columns if field.name != QUEUE]
        columns = pa.schema([*read, pa.field(WORKER, pa.string())])
        with limit_thread_stacks():
            for batch in batches:
                for part in batch.column(0).to_pylist():
                    for piece in self.parts[part]:
                        with self.address.at(piece.queue).open() as queue:
                            yield from self._read(ArrowReader(queue, columns, returns=self.returns), piece)

    def _read(self, reader: ArrowReader, piece: Piece) -> Iterator[pyarrow.RecordBatch]:
        missing = piece.stop - piece.start
        for rows in reader.run(self.run, piece.start, piece.stop):
            missing -= rows.num_rows
            yield self._with_queue(self._of_run(rows), piece.queue)
        if missing:
            count = sum(stop - start for part in self.parts for _, start, stop in part)
            raise RunExpiredError(
                f"{missing:,} of the {count:,} results are gone: the list of the run {self.run} in queue "
                f"{piece.queue!r} was removed, or it was older than 7 days. Write results that you need longer to "
                "a table, or cache them"
            )

    def _with_queue(self, rows: pyarrow.RecordBatch, queue: str) -> pyarrow.RecordBatch:
        """Return the rows with the name of their queue, if that is a column."""
        if QUEUE not in self.columns.names:
            return rows
        import pyarrow as pa

        place = self.columns.names.index(QUEUE)
        return rows.add_column(place, pa.field(QUEUE, pa.string()), pa.array([queue] * rows.num_rows, pa.string()))

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
