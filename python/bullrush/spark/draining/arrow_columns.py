"""Spark's columns as Arrow's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType


def arrow_schema(columns: StructType) -> pyarrow.Schema:
    """Return the Arrow schema in which Spark takes these columns from Python."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(columns, timezone="UTC")
    except TypeError:  # before PySpark 4.2
        return to_arrow_schema(columns)
