"""Columns of job tables as Spark schemas, and the same columns in Arrow."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from bullrush.errors import InvalidOptionError
from bullrush.extending import nearest

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructType

#: The columns of a table of jobs, and their types if the user gives none.
COLUMNS: Final = {
    "jobId": "string",
    "name": "string",
    "state": "string",
    "data": "string",
    "opts": "string",
    "timestamp": "timestamp",
    "processedOn": "timestamp",
    "finishedOn": "timestamp",
    "delay": "long",
    "priority": "int",
    "attemptsMade": "int",
    "attemptsStarted": "int",
    "stalledCounter": "int",
    "processedBy": "string",
    "returnvalue": "string",
    "failedReason": "string",
    "parentKey": "string",
}
#: Further columns that a schema may have.
EXTRA: Final = ("result", "error", "attempts", "ms", "_corrupt")
#: The columns that every job has.
_NEVER_NULL: Final = frozenset({"jobId", "state"})
#: Types of Spark that JSON has values for.
_READABLE: Final = frozenset(
    {"boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "string", "binary"}
    | {"tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "array", "map", "struct", "void"}
)


def read_schema(spark: SparkSession, ddl: str | StructType | None) -> StructType:
    """Return the columns of a Spark schema, all of them nullable; without one those of `COLUMNS`.

    Raises:
        InvalidOptionError: it is no schema, or it has a column that jobs have not, that JSON cannot give, or that is
            NOT NULL.
    """
    if ddl is None:
        ddl = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    schema = parse_schema(spark, ddl, "schema")
    for name in schema.names:
        if name not in COLUMNS and name not in EXTRA:
            raise InvalidOptionError(f"Jobs have no column {name!r}.{nearest(name, (*COLUMNS, *EXTRA))}")
    return schema


def parse_schema(spark: SparkSession, ddl: str | StructType, option: str) -> StructType:
    """Return the types of a Spark schema, all of them nullable, since a job may lack any value.

    Raises:
        InvalidOptionError: it is no schema, or it has a type that JSON cannot give or that is NOT NULL.
    """
    schema = spark_schema(spark, ddl, option)
    if isinstance(ddl, str):  # that of a DataFrame has NOT NULL without anybody having asked for it
        check_nullable(schema, option)
    return nullable_struct(schema, option)


def spark_schema(spark: SparkSession, ddl: str | StructType, option: str) -> StructType:
    """Return a Spark schema from its text, or as it is.

    Raises:
        InvalidOptionError: it is no schema, or it has a column twice.
    """
    from pyspark.sql.types import StructType

    if not isinstance(ddl, str | StructType):
        raise InvalidOptionError(
            f'{option} is a Spark schema like "jobId string, data struct<n: long>", or a StructType, not {ddl!r}'
        )
    try:
        schema = ddl if isinstance(ddl, StructType) else spark.createDataFrame([], ddl).schema
    except Exception as error:
        # PySpark raises various classes here, which differ between its versions and Spark Connect.
        reason = str(error).strip().splitlines()[0]
        raise InvalidOptionError(f"{option} is no Spark schema: {ddl!r} ({reason})") from None
    if not schema.names:
        raise InvalidOptionError(f"{option} has no column")
    # Spark finds a column without regard to case.
    if len({name.lower() for name in schema.names}) < len(schema.names):
        raise InvalidOptionError(f"{option} has a column twice: {', '.join(schema.names)}")
    return schema


def check_nullable(schema: StructType, option: str) -> None:
    """Check that all columns and their parts may be null, except for those that every job has.

    Raises:
        InvalidOptionError: one is NOT NULL, or has a type that JSON cannot give.
    """
    for column, nullable in zip(schema.fields, nullable_struct(schema, option).fields, strict=True):
        if column.dataType != nullable.dataType or not (column.nullable or column.name in _NEVER_NULL):
            raise InvalidOptionError(
                f"column {column.name!r} has a NOT NULL: leave it out, since any value may be null"
            )


def arrow_schema(schema: StructType) -> pyarrow.Schema:
    """Return the same columns in Arrow, exactly as Spark wants them from a task."""
    from pyspark.sql.pandas.types import to_arrow_schema

    # Newer versions take the zone of timestamps as an argument, older ones always use this one.
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)


def nullable_struct(struct: StructType, path: str) -> StructType:
    """Return the same fields, all of them nullable.

    Raises:
        InvalidOptionError: one has a type that JSON cannot give.
    """
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(f.name, _nullable(f.dataType, f"{path}.{f.name}"), True) for f in struct.fields])


def _nullable(kind: DataType, path: str) -> DataType:
    from pyspark.sql.types import ArrayType, MapType, StringType, StructType

    if kind.typeName() not in _READABLE and not isinstance(kind, StringType):
        raise InvalidOptionError(f"{path} cannot be read from JSON: it has the type {kind.simpleString()}")
    if isinstance(kind, StructType):
        return nullable_struct(kind, path)
    if isinstance(kind, ArrayType):
        return ArrayType(_nullable(kind.elementType, f"{path}[]"), True)
    if isinstance(kind, MapType):
        if not isinstance(kind.keyType, StringType):
            raise InvalidOptionError(f"{path} cannot be read from JSON: the keys of its objects are strings")
        return MapType(kind.keyType, _nullable(kind.valueType, f"{path}{{}}"), True)
    return kind
