"""Checks of the target of rows: one for all, or a column of structs, before any task starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from bullrush.errors import InvalidOptionError
from bullrush.extending import nearest
from bullrush.queue import Queue
from bullrush.routing import Target

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

_TEXTS: Final = ("string", "char", "varchar")
_TOKENS: Final = ("stack", "capabilities", "region")
_INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")
#: The fields of a target that may be columns of a struct, with the types that they may have, in words.
_FIELDS: Final = {
    "server": "a string",
    "stack": "an array of strings",
    "capabilities": "an array of strings",
    "region": "an array of strings",
    "mode": "a string",
    "fallback_after": "an integer (ms)",
    "fallback": "a string or a struct",
}


def check_target(prefix: str, queue: str, target: object) -> dict[str, Any] | None:
    """Return the target of all rows, or None if it is a column or is not given.

    Raises:
        InvalidOptionError: the target is wrong, or the queue is a route itself.
    """
    if target is None:
        return None
    given = dict(target) if isinstance(target, Mapping) else None
    # A route has no routes, whatever the target is.
    Queue(queue, prefix=prefix).route(Target(server="any") if given is None else cast("Target", given))
    return given


def check_parents_of_routes(column: str | None, schema: StructType) -> None:
    """Check that parents of rows that have targets name their queue.

    Raises:
        InvalidOptionError: the column has ids only, and an id may be in the base and in each route.
    """
    if column is not None and schema[column].dataType.typeName() in _TEXTS:
        raise InvalidOptionError(
            f"parent: with a target the column {column!r} must hold structs of id and queue, since ids are per queue "
            "and each route is a queue of its own"
        )


def check_target_column(column: str, kind: DataType) -> None:
    """Check that a column can hold targets.

    Raises:
        InvalidOptionError: it has no structs, or they have a field that targets do not have, or of another type.
    """
    _check_fields(column, kind, "target")


def _check_fields(path: str, kind: Any, role: str) -> None:
    if kind.typeName() == "void":
        return
    if kind.typeName() != "struct":
        raise InvalidOptionError(
            f"{role}: the column {path!r} must hold structs with the fields of a target ({', '.join(_FIELDS)}), not "
            f"{kind.simpleString()}"
        )
    for field in kind.fields:
        if field.name not in _FIELDS:
            raise InvalidOptionError(
                f"{role}: the column {path!r} has the field {field.name!r}, which targets do not have."
                f"{nearest(field.name, _FIELDS)}"
            )
        if field.name == "fallback" and field.dataType.typeName() == "struct":
            _check_fields(f"{path}.fallback", field.dataType, role)
        elif not _fits(field.name, field.dataType):
            raise InvalidOptionError(
                f"{role}: {path}.{field.name} must be {_FIELDS[field.name]}, not {field.dataType.simpleString()}"
            )


def _fits(name: str, kind: Any) -> bool:
    if kind.typeName() == "void":
        return True
    if name in _TOKENS:
        return bool(kind.typeName() == "array" and kind.elementType.typeName() in _TEXTS)
    return bool(kind.simpleString() in _INTEGERS if name == "fallback_after" else kind.typeName() in _TEXTS)
