"""Checks of a DataFrame and of the columns that a call names, on the driver and before any task starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from bullrush.errors import InvalidOptionError
from bullrush.spark.routing.targets import check_target_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

_INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")

#: Role of a column -> what it may hold, in words.
_WANTED: Final = {
    "name": "strings",
    "job_id": "strings or integers",
    "opts_column": "structs or JSON strings",
    "priority": "integers",
    "delay": "integers (ms) or intervals",
    "parent": "ids as strings, or structs of id and queue",
}


def check_frame(df: object) -> None:
    """Check that ``df`` is a DataFrame with rows that can be read now.

    Raises:
        InvalidOptionError: it is something else, a streaming DataFrame, or PySpark does not know the type of a column.
    """
    if not hasattr(df, "mapInArrow") or not hasattr(df, "isStreaming"):
        raise InvalidOptionError(
            f"df must be a Spark DataFrame, not {type(df).__module__}.{type(df).__name__}: use "
            "spark.createDataFrame(...), or Queue.add_arrow() for data of this process"
        )
    if df.isStreaming:
        raise InvalidOptionError(
            "A streaming DataFrame has no end: call enqueue() for each micro-batch, in "
            "df.writeStream.foreachBatch(...), or write it with df.writeStream.format('bullmq')"
        )
    try:
        cast("DataFrame", df).schema  # noqa: B018 - read from Spark here
    except ValueError as error:  # PySpark 3.5 cannot read calendar intervals
        raise InvalidOptionError(
            f"This version of PySpark cannot describe a column of df ({error}): cast intervals to strings"
        ) from error


def check_session(what: str, session: object) -> None:
    """Check that the first argument is the session.

    Raises:
        InvalidOptionError: it is something else, such as the queue's name.
    """
    if not hasattr(session, "createDataFrame"):
        raise InvalidOptionError(
            f"The first argument is the SparkSession: {what}(spark, 'name of the queue', ...), not {session!r}"
        )


def check_names(options: Mapping[str, object]) -> None:
    """Check that options are names of columns.

    Raises:
        InvalidOptionError: one is a Column or another object.
    """
    for option, given in options.items():
        if given is not None and not isinstance(given, str):
            raise InvalidOptionError(f"{option} is the name of a column, such as 'id', not {given!r}")


def check_name_lists(options: Mapping[str, object]) -> None:
    """Check that options are lists of names of columns.

    Raises:
        InvalidOptionError: one is a single name, a Column, or a list with other objects.
    """
    for option, given in options.items():
        if isinstance(given, str):
            raise InvalidOptionError(f"{option} is a list of columns: [{given!r}]")
        if given is not None and not (isinstance(given, list | tuple) and all(isinstance(one, str) for one in given)):
            raise InvalidOptionError(f"{option} is a list of names of columns, such as ['id'], not {given!r}")


def check_opts(options: Mapping[str, object]) -> None:
    """Check that options of jobs are dicts.

    Raises:
        InvalidOptionError: they are something else, such as a JSON text.
    """
    for option, given in options.items():
        if given is not None and not isinstance(given, Mapping):
            raise InvalidOptionError(f"{option} is a dict, such as {{'attempts': 3}}, not {given!r}")


def check_columns(schema: StructType, wanted: Sequence[str]) -> None:
    """Check that columns exist.

    Raises:
        InvalidOptionError: one is missing, or two have the same name.
    """
    columns = schema.names
    if twins := [column for column in columns if columns.count(column) > 1]:
        raise InvalidOptionError(f"Two columns are named {twins[0]!r}")
    for column in wanted:
        if column not in columns:
            near = near_column(columns, column)
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(columns)}"
            raise InvalidOptionError(f"No column {column!r}; {hint}")


def near_column(columns: Sequence[str], name: object) -> str | None:
    """Return the column whose name differs only in case."""
    if not isinstance(name, str):
        return None
    return next((column for column in columns if column.lower() == name.lower()), None)


def check_role(role: str, column: str, kind: DataType) -> None:
    """Check the type of a column that is a part of a job, such as its name.

    Raises:
        InvalidOptionError: it cannot be that part.
    """
    if role == "target":
        check_target_column(column, kind)
        return
    found = kind.simpleString()
    text = kind.typeName() in ("string", "char", "varchar")
    whole = found in _INTEGERS
    fits = {
        "name": text,
        "job_id": text or whole,
        "opts_column": text or kind.typeName() == "struct",
        "priority": whole,
        "delay": whole or (found.startswith("interval") and not _is_months(kind) and found != "interval"),
        "parent": text or _is_parent(kind),
    }
    if not fits[role] and not (kind.typeName() == "void" and role not in ("name", "job_id")):
        raise InvalidOptionError(f"{role}: the column {column!r} must hold {_WANTED[role]}, not {found}")


def check_data(column: str, kind: DataType) -> None:
    """Check that the values of a column can be written as JSON.

    Raises:
        InvalidOptionError: it has a map whose keys are no strings, or an interval of months inside another type.
    """
    for path, part in _parts(column, kind):
        of_map = part.typeName() == "map"
        if of_map and part.keyType.typeName() not in ("string", "char", "varchar"):  # type: ignore[attr-defined]
            raise InvalidOptionError(
                f"The map {path!r} has keys of type {part.keyType.simpleString()}, "  # type: ignore[attr-defined]
                "and the keys of a JSON object are strings: cast them, or use map_entries()"
            )
        if _is_months(part) and path != column:
            raise InvalidOptionError(
                f"{path!r} is an interval of years and months inside another type, which Spark cannot hand over: "
                "cast it to a string"
            )


def is_months(kind: DataType) -> bool:
    """Tell whether a type is an interval of years and months."""
    return _is_months(kind)


def _is_months(kind: DataType) -> bool:
    return type(kind).__name__ == "YearMonthIntervalType"


def _is_parent(kind: Any) -> bool:
    fields = {field.name: field.dataType.typeName() for field in getattr(kind, "fields", ())}
    return fields == {"id": "string", "queue": "string"}


def _parts(path: str, kind: Any) -> Iterator[tuple[str, DataType]]:
    yield path, kind
    match kind.typeName():
        case "struct":
            for field in kind.fields:
                yield from _parts(f"{path}.{field.name}", field.dataType)
        case "array":
            yield from _parts(f"{path}[]", kind.elementType)
        case "map":
            yield from _parts(f"{path}.keys", kind.keyType)
            yield from _parts(f"{path}.values", kind.valueType)
