"""Adding the rows of Arrow batches as jobs, without a Python object per row."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal

from bullrush import extending
from bullrush.extending import RowColumns, RowOptions, check_batch_id, check_choice, checks, row_plan
from bullrush.job import JobOptions

if TYPE_CHECKING:
    from typing_extensions import Self

    from bullrush.queue import Queue

_log: Final = logging.getLogger("bullrush")

#: How many batches may be in flight to Redis while the next one is encoded.
_IN_FLIGHT: Final = 2

#: How often a batch in flight is looked at, in ms.
_LOOK_MS: Final = 1000

#: The states whose jobs could run at once.
_WAITING: Final = ("wait", "paused", "prioritized")

#: Between two looks at a full queue, in seconds.
_SHORTEST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0


def rows_as_json(batch: object, columns: Sequence[str] | None = None) -> list[bytes]:
    """Return each row of Arrow data as JSON, with the rules of `ArrowWriter`.

    Args:
        batch: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``.
        columns: the columns of the JSON objects, in this order; all by default.

    Raises:
        InvalidOptionError: a column is missing or has a type that JSON cannot hold.
    """
    return extending.rows_as_json(batch, columns)


class ArrowWriter:
    """Adds batches of rows to a queue. ``added`` counts new jobs, ``duplicates`` those whose id existed already.

    A batch is anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, polars, pandas, duckdb, Spark's
    ``mapInArrow``). Each row becomes a job with the row as a JSON object: null is null, integers and decimals are
    numbers with all their digits, NaN is null, binary is base64, dates and times are ISO 8601 texts (timestamps with a
    time zone are in UTC with ``Z``), lists are lists and structs are objects.

    Spark's VARIANT is the JSON that it holds, an interval an ISO 8601 duration. The keys of a map must be strings.

    Args:
        queue: the queue.
        name: the name of all jobs.
        name_column: instead of ``name``: the column with the names.
        data: the columns of the data; all by default.
        job_id: the column with the job ids, strings or integers. BullMQ refuses whole numbers as ids, so ``17`` in a
            column ``order`` becomes the id ``order-17``.
        id_scope: without ``job_id``: ids are ``<scope>.<hash of the row and its name>.<number of equal rows before>``.
            Rows that a new writer with the same scope writes again, in any order, are duplicates and no new jobs.
        opts: the options of all jobs; see `JobOptions`.
        batch_id: Redis counts the jobs that are really added in the key ``ext:enq-<batch id>`` of the queue, in the
            same call, for 7 days. Several writers and repeated ones may share it.
        opts_column: a column with more options of each job, as a struct or a JSON text with the names of `JobOptions`;
            they take precedence over ``opts``. A null is none.
        priority_column: a column with priorities; null is no priority of its own.
        delay_column: a column with delays, in ms or as durations; null is no delay of its own.
        parent_column: a column with parents: ids of jobs of the same queue, or structs of ``id`` and ``queue`` (with
            the prefix); null is no parent.
        longs_as_strings: write 64-bit integers as strings, since Node rounds numbers beyond 2^53.
        on_invalid: ``skip`` leaves out rows that cannot be jobs; ``skipped`` counts them.
        on_oom: ``wait`` sends jobs again, with growing pauses of 0.1 to 5 s, that Redis refuses because its memory is
            full.
        max_waiting: wait before each batch while more jobs than this wait in the queue (waiting, paused or
            prioritized). Batches that are in flight are not counted yet, so that the queue may hold somewhat more.

    Raises:
        InvalidOptionError: an option is wrong or, in `write`, a row cannot be a job. No row of that batch is added;
            earlier batches are.
        RedisServerError: in `write` and `flush`; its code is ``OOM`` when the memory of Redis is full.
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
        batch_id: str | None = None,
        opts_column: str | None = None,
        priority_column: str | None = None,
        delay_column: str | None = None,
        parent_column: str | None = None,
        longs_as_strings: bool = False,
        on_invalid: Literal["fail", "skip"] = "fail",
        on_oom: Literal["fail", "wait"] = "fail",
        max_waiting: int | None = None,
    ) -> None:
        check_choice("on_invalid", on_invalid, ("fail", "skip"))
        check_choice("on_oom", on_oom, ("fail", "wait"))
        self.added: int = 0
        self.duplicates: int = 0
        self._queue = queue
        self._max_waiting = None if max_waiting is None else checks.at_least(0)("max_waiting", max_waiting)
        self._sent: deque[extending.Pending[tuple[list[str], list[int]]]] = deque()
        self._wait_reported = False
        columns: RowColumns = {
            "name": name if name is not None or name_column else queue.name,
            "name_column": name_column,
            "data": None if data is None else list(data),
            "id_column": job_id,
            "batch_id": None if batch_id is None else check_batch_id(batch_id),
            "opts_column": opts_column,
            "priority_column": priority_column,
            "delay_column": delay_column,
            "parent_column": parent_column,
            "longs_as_strings": longs_as_strings,
            "skip_invalid": on_invalid == "skip",
            "wait_for_memory": on_oom == "wait",
        }
        auto_ids = extending.AutoIds(id_scope) if id_scope and job_id is None else None
        self._plan = row_plan(RowOptions.of(opts, queue.qualified_name), columns, auto_ids)

    @property
    def skipped(self) -> int:
        """How many rows were left out because they cannot be jobs."""
        return self._plan.skipped

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.flush()

    def write(self, batch: object) -> None:
        """Send one batch, table or stream. Waits for earlier ones if too many are in flight.

        Args:
            batch: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``.
        """
        self._sent.append(self._send(batch))
        while len(self._sent) > _IN_FLIGHT:
            self._await_oldest()

    def add(self, batch: object) -> list[str]:
        """Send one batch, table or stream, wait until all written rows are in Redis, and return the ids of its jobs.

        Args:
            batch: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``.
        """
        self.flush()
        self._sent.append(self._send(batch))
        return self._await_oldest()

    def _send(self, batch: object) -> extending.Pending[tuple[list[str], list[int]]]:
        if self._max_waiting is not None:
            self._wait_for_room(self._max_waiting)
        return self._queue.core.add_arrow(batch, self._plan, extending.now_ms())

    def flush(self) -> None:
        """Wait until all written rows are in Redis."""
        while self._sent:
            self._await_oldest()

    def _await_oldest(self) -> list[str]:
        sent = self._sent.popleft()
        while True:
            try:
                ids, duplicates = sent.wait(_LOOK_MS)
                break
            except TimeoutError:
                self._tell_of_memory()
        self._tell_of_memory()
        self.added += len(ids) - len(duplicates)
        self.duplicates += len(duplicates)
        return ids

    def _tell_of_memory(self) -> None:
        if self._plan.has_waited() and not self._wait_reported:
            self._wait_reported = True
            _log.warning("Queue %s: the memory of Redis is full; jobs wait until there is room", self._queue.name)

    def _wait_for_room(self, most: int) -> None:
        pause = _SHORTEST_PAUSE
        while (waiting := sum(self._queue.core.get_counts(_WAITING).wait())) > most:
            if pause == _SHORTEST_PAUSE:
                _log.info("Queue %s holds %d waiting jobs, more than %d: waiting", self._queue.name, waiting, most)
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
