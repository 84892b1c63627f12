"""Arrow batches as jobs, one per row, without a Python object per row."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final

from bullrush import _core
from bullrush.job.option_compiler import OptionCompiler
from bullrush.job.options import JobOptions

if TYPE_CHECKING:
    from typing_extensions import Self

    from bullrush.queue.queue import Queue

#: Batches on their way to Redis while the next one is being encoded.
_IN_FLIGHT: Final = 2


class ArrowWriter:
    """Adds batch after batch to a queue; counts what was new and what was there already.

    A batch is anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, polars, pandas, duckdb, Spark's
    ``mapInArrow``). Each row becomes a job whose data is the row as a JSON object: nulls stay as null, integers and decimals
    are numbers with all their digits, NaN is null, binary is base64, dates and times are ISO 8601, an instant in UTC with
    ``Z``, a list or struct is a list or object.

    Args:
        queue: where the jobs go.
        name: the name of every job.
        name_column: the column with the name of each job, instead of ``name``.
        data: the columns of the data; all of them by default.
        job_id: the column with the job ids, strings or integers. BullMQ refuses whole numbers as ids, so ``17`` in a column
            ``order`` becomes the id ``order-17``.
        id_scope: without ``job_id``, makes the ids ``<scope>.<hash of the row>.<how many equal rows came before>``. Rows that
            are written again by a new writer of the same scope, in any order, are duplicates and not new jobs.
        opts: job options for all rows.

    Raises:
        InvalidOptionError: an option is wrong, or (on `write`) a row cannot be a job. Of the batch that is refused no row is
            added; earlier batches are.
    """

    def __init__(
        self,
        queue: Queue,
        *,
        name: str | None = None,
        name_column: str | None = None,
        data: Sequence[str] | None = None,
        job_id: str | None = None,
        id_scope: str | None = None,
        opts: JobOptions | None = None,
    ) -> None:
        self.added = 0
        self.duplicates = 0
        self._core = queue.core
        self._name = name if name is not None or name_column else queue.name
        self._columns = (name_column, data, job_id)
        self._auto_ids = _core.AutoIds(id_scope) if id_scope and job_id is None else None
        self._opts, _ = OptionCompiler(opts).compile({})
        self._sent: deque[_core.Pending[tuple[list[str], list[int]]]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.flush()

    def write(self, batch: object) -> None:
        """Send one batch, table or stream; waits for those sent before when there are too many of them."""
        name_column, data, job_id = self._columns
        opts = self._opts
        sent = self._core.add_arrow(
            batch,
            self._name,
            name_column,
            data,
            job_id,
            self._auto_ids,
            opts.stored,
            opts.timestamp or time.time_ns() // 1_000_000,
            opts.delay,
            opts.priority,
            opts.lifo,
            opts.link,
        )
        self._sent.append(sent)
        while len(self._sent) > _IN_FLIGHT:
            self._settle()

    def flush(self) -> None:
        """Wait until everything written is in Redis."""
        while self._sent:
            self._settle()

    def _settle(self) -> None:
        ids, duplicates = self._sent.popleft().wait()
        self.added += len(ids) - len(duplicates)
        self.duplicates += len(duplicates)
