"""Adds the rows of a partition as jobs, a limited number at a time, and gives each row the result of its job."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bullrush.arrow import ArrowWriter
from bullrush.job import JobOptions
from bullrush.spark.address import Address
from bullrush.spark.tasks.open_calls import Answer, OpenCalls

if TYPE_CHECKING:
    import pyarrow

#: The names of the columns that `AnswerRows` appends.
RESULT: Final = "__bullrush_result"
ERROR: Final = "__bullrush_error"

#: The most rows that are sent in one step.
_MOST_ROWS: Final = 500
#: A slow job holds up the rows behind it, since their order is kept: this many rows per row in flight may wait for it.
_HELD: Final = 10


@dataclass
class _Piece:
    """Rows that were sent together, and what is known of their results."""

    rows: pyarrow.RecordBatch
    ids: Sequence[str]
    answers: dict[str, Answer] = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerRows:
    """The function of `call` for ``mapInArrow``.

    Attributes:
        address: the queue.
        columns: the names of the rows' columns, which Spark passes under other names.
        name: the name of all jobs, or None.
        name_column: the column with the names, or None.
        data: the columns of the jobs' data, None for all.
        job_id: the column with the ids, or None.
        scope: a part of automatic ids.
        opts: the options of the jobs.
        in_flight: how many unfinished jobs a task may have.
        timeout: seconds that a job may take.
    """

    address: Address
    columns: Sequence[str]
    name: str | None
    name_column: str | None
    data: Sequence[str] | None
    job_id: str | None
    scope: str
    opts: JobOptions
    in_flight: int
    timeout: float

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows in their order, each with the columns `RESULT` (JSON) and `ERROR`."""
        # Imported here, since this module is also imported where there is no Spark.
        from pyspark import TaskContext

        context = TaskContext.get()
        yield from self.answered(batches, context.partitionId() if context else 0)

    def answered(self, batches: Iterable[pyarrow.RecordBatch], partition: int) -> Iterator[pyarrow.RecordBatch]:
        """Do the work of the partition with this number."""
        queue = self.address.open()
        writer = ArrowWriter(
            queue,
            name=self.name,
            name_column=self.name_column,
            data=self.data,
            job_id=self.job_id,
            id_scope=f"{self.scope}.{partition}",
            opts=self.opts,
        )
        step = max(1, min(self.in_flight // 4, _MOST_ROWS))
        window = _Window(OpenCalls(queue, self.timeout))
        for batch in batches:
            for start in range(0, batch.num_rows, step):
                rows = batch.slice(start, step)
                while window.in_flight + rows.num_rows > self.in_flight or window.held > _HELD * self.in_flight:
                    yield from window.next_rows()
                window.add(rows, writer.add(rows.rename_columns(self.columns)))
        while window.held:
            yield from window.next_rows()


class _Window:
    """The rows that were sent and not yet returned, in their order."""

    def __init__(self, calls: OpenCalls) -> None:
        self._calls = calls
        self._pieces: deque[_Piece] = deque()
        self._pieces_of: dict[str, list[_Piece]] = {}  # two rows may have one job
        self.held = 0

    @property
    def in_flight(self) -> int:
        return len(self._calls)

    def add(self, rows: pyarrow.RecordBatch, ids: Sequence[str]) -> None:
        piece = _Piece(rows, ids)
        self._pieces.append(piece)
        self.held += rows.num_rows
        for job_id in dict.fromkeys(ids):
            self._pieces_of.setdefault(job_id, []).append(piece)
        self._calls.add(ids)

    def next_rows(self) -> Iterator[pyarrow.RecordBatch]:
        """Look for results once, and yield the rows at the front that have theirs."""
        for job_id, answer in self._calls.ended().items():
            for piece in self._pieces_of.pop(job_id):
                piece.answers[job_id] = answer
        while self._pieces and len(self._pieces[0].answers) == len(set(self._pieces[0].ids)):
            piece = self._pieces.popleft()
            self.held -= piece.rows.num_rows
            yield _joined(piece)


def _joined(piece: _Piece) -> pyarrow.RecordBatch:
    import pyarrow as pa

    answers = [piece.answers[job_id] for job_id in piece.ids]
    results, errors = (pa.array(column, pa.string()) for column in zip(*answers, strict=True))
    names = [*piece.rows.schema.names, RESULT, ERROR]
    return pa.RecordBatch.from_arrays([*piece.rows.columns, results, errors], names=names)
