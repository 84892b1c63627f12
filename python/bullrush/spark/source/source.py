"""The entry point: which class Spark gets for which query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from bullrush.errors import InvalidOptionError
from bullrush.spark.source import jobs
from bullrush.spark.source.messages import with_readable_errors
from bullrush.spark.source.options import read_read_options, read_source, read_stream_options, read_write_options
from bullrush.spark.source.read import BatchReader
from bullrush.spark.source.stream import events
from bullrush.spark.source.stream.events import EventSource
from bullrush.spark.source.stream.finished import FinishedSource
from bullrush.spark.source.stream.reader import StreamReader
from bullrush.spark.source.write import BatchWriter, StreamWriter

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class DefaultSource(DataSource):
    """Queues as tables and streams: ``format("bullmq")``.

    Spark calls every method in a process of its own, and sends the objects that they return to others. So they hold
    options, and no connections.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "bullmq"

    @with_readable_errors
    def schema(self) -> str:
        """Return the columns of a table or stream without a schema of the user's own."""
        return events.SCHEMA if read_source(self.options) == "events" else jobs.SCHEMA

    @with_readable_errors
    def reader(self, schema: StructType) -> BatchReader:
        """Return what reads a queue as a table."""
        return BatchReader(read_read_options(self.options), schema)

    @with_readable_errors
    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802 - Spark's name
        """Return what reads a queue as a stream."""
        options = read_stream_options(self.options)
        kind = EventSource if options.source == "events" else FinishedSource
        return StreamReader(kind(options, schema), options.max_rows_per_trigger)

    @with_readable_errors
    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """Return what adds the rows of a DataFrame."""
        if overwrite:
            raise InvalidOptionError("jobs can only be added to a queue: use .mode('append')")
        return BatchWriter(read_write_options(self.options, "write"), schema)

    @with_readable_errors
    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802 - Spark's name
        """Return what adds the rows of a streaming query."""
        if overwrite:
            raise InvalidOptionError("jobs can only be added to a queue: use .outputMode('append')")
        return StreamWriter(read_write_options(self.options, "streamWrite"), schema)
