"""The entry point: which class Spark gets for which query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from bullrush.errors import InvalidOptionError
from pyspark_bullrush.messages import told
from pyspark_bullrush.options import read_write_options
from pyspark_bullrush.write import BatchWriter, StreamWriter

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

    @told
    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """Return what adds the rows of a DataFrame."""
        if overwrite:
            raise InvalidOptionError("jobs can only be added to a queue: use .mode('append')")
        return BatchWriter(read_write_options(self.options, "write"), schema)

    @told
    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802 - Spark's name
        """Return what adds the rows of a streaming query."""
        if overwrite:
            raise InvalidOptionError("jobs can only be added to a queue: use .outputMode('append')")
        return StreamWriter(read_write_options(self.options, "streamWrite"), schema)
