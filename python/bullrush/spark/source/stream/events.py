"""The stream of a queue's events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

import orjson
from pyspark.sql.datasource import InputPartition

from bullrush.errors import InvalidOptionError
from bullrush.spark.reading.columns import arrow_schema
from bullrush.spark.source.messages import DataSourceError
from bullrush.spark.source.options import StreamOptions
from bullrush.spark.source.stream.offsets import check_queue

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

Offset = dict[str, Any]
#: The id of an entry and its fields.
Entry = tuple[str, dict[str, str]]

#: The columns. `fields` has everything that the entry has.
SCHEMA: Final = (
    "id string, timestamp timestamp, event string, jobId string, prev string, returnvalue string, failedReason string, "
    "fields map<string,string>"
)
_COLUMNS: Final = ("event", "jobId", "prev", "returnvalue", "failedReason")
_PAGE: Final = 5_000
_FIRST: Final = "0-0"
_ID: Final = re.compile(r"\d{1,20}-\d{1,20}")


class Part(InputPartition):
    """The entries after one id, up to another one."""

    def __init__(self, after: str, until: str) -> None:
        super().__init__(until)
        self.after = after
        self.until = until


class EventSource:
    """Reads each entry of the event stream once. An offset is ``{"id": "<ms>-<n>", "queue": "<prefix>:<name>"}``."""

    def __init__(self, options: StreamOptions, schema: StructType) -> None:
        known = ("id", "timestamp", *_COLUMNS, "fields")
        for column in schema.fieldNames():
            if column not in known:
                raise InvalidOptionError(f"events have no column {column!r}. There are: {', '.join(known)}")
        self._options = options
        self._schema = schema

    def initial(self) -> Offset:
        """Return where a new query begins."""
        given = self._options.starting_offsets.strip()
        if given.lower() == "earliest":
            return self._offset(_FIRST)
        if given.lower() == "latest":
            return self.target()
        try:
            found = orjson.loads(given)
        except orjson.JSONDecodeError:
            found = None
        if not isinstance(found, dict) or found.keys() != {"id"} or not _ID.fullmatch(str(found["id"])):
            example = '{"id": "1714566600000-0"}'
            raise InvalidOptionError(f"startingOffsets must be earliest, latest or such as {example}, not {given!r}")
        return self._offset(found["id"])

    def target(self) -> Offset:
        """Return the id of the last entry that was ever added."""
        return self._offset(self._ends()[1])

    def latest(self, start: Offset | None, limit: int | None, target: Offset | None) -> Offset:
        """Return the end of the next micro-batch."""
        end = (target or self.target())["id"]
        if start is None:
            return self._offset(end)
        after = self._id_of(start)
        self._check_not_trimmed(after)
        if _order(end) <= _order(after):
            return start
        if limit is not None:
            last = after
            for page in self._pages(after, end, limit):
                last = page[-1][0]
            end = last if last != after else end
        return self._offset(end)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return one part: BullMQ keeps about 10,000 entries, which are read within a fraction of a second."""
        return [Part(self._id_of(start), self._id_of(end))]

    def read(self, partition: Any) -> Iterator[pyarrow.RecordBatch]:
        """Read the entries of one micro-batch.

        Raises:
            DataSourceError: entries were trimmed before they were read.
        """
        schema = arrow_schema(self._schema)
        for page in self._pages(partition.after, partition.until):
            yield _batch(page, schema)
        self._check_not_trimmed(partition.after)

    def _offset(self, entry: str) -> Offset:
        return {"id": entry, "queue": self._options.address.qualified_name}

    def _id_of(self, offset: Offset) -> str:
        check_queue(offset, self._options.address)
        found = str(offset.get("id"))
        if not _ID.fullmatch(found):
            raise DataSourceError(
                f"the checkpoint has the offset {offset}, which is not one of source='events': a query keeps its source"
            )
        return found

    def _pages(self, after: str, until: str, limit: int | None = None) -> Iterator[list[Entry]]:
        """Yield the entries after one id, up to another one, at most ``limit`` of them."""
        with self._options.address.open() as queue:
            left = limit
            while left is None or left > 0:
                count = _PAGE if left is None else min(left, _PAGE)
                page = [
                    (entry, dict(fields)) for entry, fields in queue.core.stream_entries(after, until, count).wait()
                ]
                if page:
                    yield page
                if len(page) < count:
                    return
                after, left = page[-1][0], None if left is None else left - len(page)

    def _ends(self) -> tuple[str | None, str]:
        """Return the id of the first entry, None if there is none, and that of the last one that was ever added."""
        with self._options.address.open() as queue:
            first, last = queue.core.stream_ends().wait()
        return first, last or _FIRST

    def _check_not_trimmed(self, after: str) -> None:
        if after == _FIRST or not self._options.fail_on_data_loss:
            return
        first, last = self._ends()
        if _order(first or last) > _order(after):
            raise DataSourceError(
                f"the event stream has been trimmed behind {after}, so entries that were not read are gone. It keeps "
                "about opts.maxLenEvents entries (10,000 by default, two per job or more): raise it, read more often, "
                "or set failOnDataLoss to false to go on without them."
            )


def _batch(entries: list[Entry], schema: pyarrow.Schema) -> pyarrow.RecordBatch:
    import pyarrow as pa

    columns: dict[str, list[Any]] = {
        "id": [entry for entry, _ in entries],
        "timestamp": [datetime.fromtimestamp(_order(entry)[0] / 1000, timezone.utc) for entry, _ in entries],
        "fields": [list(fields.items()) for _, fields in entries],
        **{name: [fields.get(name) for _, fields in entries] for name in _COLUMNS},
    }
    return pa.RecordBatch.from_arrays([pa.array(columns[field.name], field.type) for field in schema], schema=schema)


def _order(entry: str) -> tuple[int, int]:
    ms, _, number = entry.partition("-")
    return int(ms), int(number)
