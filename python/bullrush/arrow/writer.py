"""Adding the rows of Arrow batches as jobs, without a Python object per row."""

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

#: How many batches may be in flight to Redis while the next one is encoded.
_IN_FLIGHT: Final = 2


def rows_as_json(batch: object, columns: Sequence[str] | None = None) -> list[bytes]:
    """Return each row of Arrow data as JSON, with the rules of `ArrowWriter`.

    Args:
        batch: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``.
        columns: the columns of the JSON objects, in this order; all by default.

    Raises:
        InvalidOptionError: a column is missing or has a type that JSON cannot hold.
    """
    return _core.rows_as_json(batch, columns)


class ArrowWriter:
    """Adds batches of rows to a queue. ``added`` counts new jobs, ``duplicates`` those whose id existed already.

    A batch is anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, polars, pandas, duckdb, Spark's
    ``mapInArrow``). Each row becomes a job with the row as a JSON object: null is null, integers and decimals are
    numbers with all their digits, NaN is null, binary is base64, dates and times are ISO 8601 texts (timestamps with a
    time zone are in UTC with ``Z``), lists are lists and structs are objects.

    Args:
        queue: the queue.
        name: the name of all jobs.
        name_column: instead of ``name``: the column with the names.
        data: the columns of the data; all by default.
        job_id: the column with the job ids, strings or integers. BullMQ refuses whole numbers as ids, so ``17`` in a
            column ``order`` becomes the id ``order-17``.
        id_scope: without ``job_id``: ids are ``<scope>.<hash of the row>.<number of equal rows before>``. Rows that a
            new writer with the same scope writes again, in any order, are duplicates and no new jobs.
        opts: the options of all jobs; see `JobOptions`.

    Raises:
        InvalidOptionError: an option is wrong or, in `write`, a row cannot be a job. No row of that batch is added;
            earlier batches are.
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
        """Send one batch, table or stream. Waits for earlier ones if too many are in flight."""
        self._sent.append(self._send(batch))
        while len(self._sent) > _IN_FLIGHT:
            self._await_oldest()

    def add(self, batch: object) -> list[str]:
        """Send one batch, table or stream, wait until all written rows are in Redis, and return the ids of its jobs."""
        self.flush()
        self._sent.append(self._send(batch))
        return self._await_oldest()

    def _send(self, batch: object) -> _core.Pending[tuple[list[str], list[int]]]:
        name_column, data, job_id = self._columns
        opts = self._opts
        return self._core.add_arrow(
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

    def flush(self) -> None:
        """Wait until all written rows are in Redis."""
        while self._sent:
            self._await_oldest()

    def _await_oldest(self) -> list[str]:
        ids, duplicates = self._sent.popleft().wait()
        self.added += len(ids) - len(duplicates)
        self.duplicates += len(duplicates)
        return ids
