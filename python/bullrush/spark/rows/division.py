"""Dividing rows so that equal ones come to the same task, whatever the partitions of the frame are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def divide_by_content(df: DataFrame, columns: Mapping[str, Any]) -> DataFrame:
    """Return the rows, divided by a hash: rows whose columns have equal JSON are in one partition.

    Automatic ids number equal rows, so one task must see all of them. A hash that is equal for some different rows does
    no harm.

    Args:
        df: the rows.
        columns: the columns that count, with their types.
    """
    return df.repartition(hash_of_content(columns)) if columns else df.repartition(1)


def hash_of_content(columns: Mapping[str, Any]) -> Column:
    """Return a number that is equal for rows whose columns have equal JSON."""
    from pyspark.sql import functions as f

    keys = [_key(f.col(column), kind) for column, kind in columns.items()]
    return f.xxhash64(*keys) if keys else f.lit(0).cast("long")


def _key(column: Column, kind: Any) -> Column:
    """Return a column that Spark can hash, and that is equal for values with equal JSON."""
    from pyspark.sql import functions as f

    match kind.typeName():
        case "double" | "float":
            # NaN, the infinities and null are all null in JSON.
            return f.when(f.abs(column) < float("inf"), column)
        case "variant":
            return f.to_json(column)
        case "struct":
            parts = [_key(column.getField(field.name), field.dataType) for field in kind.fields]
            return f.xxhash64(*parts) if parts else f.lit(0)
        case "array":
            return f.transform(column, lambda item: _key(item, kind.elementType))
        case "map":
            values = f.transform(f.map_values(column), lambda item: _key(item, kind.valueType))
            return f.xxhash64(f.map_keys(column), values)
        case _:
            return column
