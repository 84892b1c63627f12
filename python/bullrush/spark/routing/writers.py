"""Writes rows to the queues of their routes: one writer for the base and for each route that a task meets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import orjson

from bullrush.arrow import ArrowWriter, rows_as_json
from bullrush.errors import InvalidOptionError

if TYPE_CHECKING:
    import pyarrow

    from bullrush.queue import Queue
    from bullrush.routing import Target


class Written(NamedTuple):
    """What was written to one queue: its name, how many rows it got, and how many of them cannot be jobs."""

    queue: str
    rows: int
    skipped: int


class RouteWriters:
    """The writers of one server.

    Args:
        queue: the base queue.
        writer: makes the writer of a queue.
        target: the target of all rows; None for none.
        target_column: instead of it, the column with the target of each row; None for none.
        skip: leave out rows whose target is wrong, and count them.
    """

    def __init__(
        self,
        queue: Queue,
        writer: Callable[[Queue], ArrowWriter],
        target: Mapping[str, Any] | None,
        target_column: str | None,
        *,
        skip: bool,
    ) -> None:
        self._base = queue
        self._open = writer
        self._column = target_column
        self._skip = skip
        self._writers: dict[str, ArrowWriter] = {}
        self._rows: dict[str, int] = {}
        #: The JSON of a target -> the name of its queue, empty for a wrong one. Rows have few different ones.
        self._known: dict[bytes, str] = {}
        self._wrong = 0
        self._all = "" if target_column else self._queue_of(target)

    def write(self, batch: pyarrow.RecordBatch) -> None:
        """Write rows, each to the queue of its target.

        Raises:
            InvalidOptionError: a target is wrong. No row of the batch is written.
        """
        if not batch.num_rows:
            return
        if self._column is None:
            self._write(self._all, batch)
            return
        names = [self._name_of(text) for text in rows_as_json(batch, [self._column])]
        present = dict.fromkeys(names)
        if len(present) == 1:
            self._write(names[0], batch)
            return
        import pyarrow as pa
        from pyarrow import compute

        column = pa.array(names)
        for name in present:
            self._write(name, batch.filter(compute.equal(column, name)))

    def flush(self) -> Iterator[Written]:
        """Wait until all rows are in Redis, and tell what each queue got."""
        for name, writer in self._writers.items():
            writer.flush()
            yield Written(name, self._rows.get(name, 0), writer.skipped)
        if self._wrong:
            yield Written(self._base.name, self._wrong, self._wrong)

    def _write(self, name: str, batch: pyarrow.RecordBatch) -> None:
        if not name:
            self._wrong += batch.num_rows
            return
        self._rows[name] = self._rows.get(name, 0) + batch.num_rows
        self._writers[name].write(batch)

    def _name_of(self, text: bytes) -> str:
        """Return the name of the queue for a row, of which ``text`` has the target; empty if it is left out."""
        if (name := self._known.get(text)) is None:
            (target,) = orjson.loads(text).values()
            try:
                name = self._queue_of(target)
            except InvalidOptionError:
                if not self._skip:
                    raise
                name = ""
            self._known[text] = name
        return name

    def _queue_of(self, target: Mapping[str, Any] | None) -> str:
        """Return the name of the queue for a target, and open its writer."""
        given = without_nulls(target)
        queue = self._base.route(cast("Target", given)) if given else self._base
        if queue.name not in self._writers:
            self._writers[queue.name] = self._open(queue)
        return queue.name


def without_nulls(fields: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields of a struct that are given; those of a struct inside as well."""
    return {
        name: without_nulls(value) if isinstance(value, Mapping) else value
        for name, value in (fields or {}).items()
        if value is not None
    }
