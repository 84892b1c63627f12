"""Streams of what can be read from a queue, with the calls that each version of PySpark makes.

A source (`Source`) decides about offsets and reads rows. From PySpark 4.2 on, Spark says where a micro-batch begins and
how large it may be; before, the reader must remember where the last one ended.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from bullrush.spark.source.messages import rows_with_readable_errors, with_readable_errors

if TYPE_CHECKING:
    import pyarrow

Offset = dict[str, Any]

#: Whether Spark passes the beginning and the limit of a micro-batch.
HAS_LIMITS: Final = len(inspect.signature(DataSourceStreamReader.latestOffset).parameters) > 1


class Source(Protocol):
    """What a stream reads. It can be pickled, and connects where it is used."""

    def initial(self) -> Offset:
        """Return where a new query begins."""

    def target(self) -> Offset:
        """Return the end of all that is there now, which a query with ``availableNow`` reads. May wait for it."""

    def latest(self, start: Offset | None, limit: int | None, target: Offset | None) -> Offset:
        """Return the end of the next micro-batch.

        Args:
            start: where it begins; None if it is not known.
            limit: at most how many rows it has.
            target: it does not go further than this.
        """

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return what the tasks read."""

    def read(self, partition: Any) -> Iterator[pyarrow.RecordBatch]:
        """Read in a task."""


class _Reader(DataSourceStreamReader):
    def __init__(self, source: Source, limit: int | None) -> None:
        self._source = source
        self._limit = limit
        self._target: Offset | None = None

    @with_readable_errors
    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Return where a new query begins."""
        return self._source.initial()

    @with_readable_errors
    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return what the tasks of a micro-batch read."""
        return [] if start == end else self._source.partitions(start, end)

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """Read in a task."""
        return rows_with_readable_errors(self._source.read(partition))


if HAS_LIMITS:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    class StreamReader(_Reader, SupportsTriggerAvailableNow):
        """Reads a stream, from PySpark 4.2 on."""

        def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
            """Return the option ``maxRowsPerTrigger``."""
            return ReadAllAvailable() if self._limit is None else ReadMaxRows(self._limit)

        @with_readable_errors
        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
            """Fix the end of a query that reads what is there now."""
            self._target = self._source.target()

        @with_readable_errors
        def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
            """Return the end of the next micro-batch."""
            most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
            return self._source.latest(start, most, self._target)

else:

    class StreamReader(_Reader):  # type: ignore[no-redef]
        """Reads a stream on PySpark 4.0 and 4.1. It knows where it is from the calls that Spark makes."""

        _position: Offset | None = None

        def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
            """Return where a new query begins."""
            self._position = super().initialOffset()
            return self._position

        def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
            """Return what the tasks of a micro-batch read."""
            self._position = end
            return super().partitions(start, end)

        @with_readable_errors
        def latestOffset(self) -> Offset:  # type: ignore[override] # noqa: N802 - Spark's name
            """Return the end of the next micro-batch."""
            return self._source.latest(self._position, self._limit, None)
