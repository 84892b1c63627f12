"""Values through pydantic: models, dataclasses, and everything else that it knows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeAlias, get_args

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError
from pydantic_core.core_schema import ErrorType
from typing_extensions import NotRequired, TypedDict

from bullrush.tasks.codecs.misfit import MisfitError, UnsupportedTypeError

_Convert: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]

#: Called with a dict that only exists when the program runs, which type checkers refuse.
_TYPED_DICT: Any = TypedDict

#: What to say instead of messages that quote the value.
_INSTEAD: Final = {
    "uuid_parsing": "Input should be a valid UUID",
    "union_tag_invalid": "Input has none of the expected tags",
    "bytes_invalid_encoding": "Input should be valid base64",
    "timezone_offset": "Input should have another time zone",
}
#: The errors of pydantic whose messages do not quote the value. Validators of a program may say anything.
_TELLING: Final = frozenset(get_args(ErrorType)) - {
    *_INSTEAD,
    "assertion_error",
    "datetime_object_invalid",
    "get_attribute_error",
    "iteration_error",
    "value_error",
}

# Strict, so that "7" is no int, as in signatures of plain types. Models have their own configuration.
_CONFIG = ConfigDict(strict=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


def compile_with_pydantic(types: Mapping[str, Any], required: Collection[str]) -> tuple[_Convert, _Convert]:
    """Return the functions that encode and decode values of these types; see `Codec.compile`."""
    fields = {name: hint if name in required else NotRequired[hint] for name, hint in types.items()}
    shape = _TYPED_DICT("arguments", fields)
    shape.__pydantic_config__ = _CONFIG
    try:
        # In a list: pydantic takes a configuration for the bytes of a dict only from outside.
        adapter: TypeAdapter[list[dict[str, Any]]] = TypeAdapter(_list_of(shape), config=_CONFIG)
        # Raises if a name in a type is not known; otherwise the first job would.
        _ = adapter.validator.title
    except PydanticUserError as error:
        unknown = "a type has a name in quotes that is not known here: an alias cannot refer to itself, a class can"
        raise UnsupportedTypeError(unknown if error.code == "class-not-fully-defined" else str(error)) from error

    def encode(values: dict[str, Any]) -> dict[str, Any]:
        try:
            adapter.validate_python([values])
            encoded: dict[str, Any] = adapter.dump_python([values], mode="json", warnings=False)[0]
        except ValidationError as error:
            raise _misfit(error) from None
        except (PydanticSerializationError, UnicodeDecodeError) as error:
            raise MisfitError(f"a value has no form in JSON ({type(error).__name__})") from None
        return encoded

    def decode(values: dict[str, Any]) -> dict[str, Any]:
        try:
            # From JSON: only then are texts read as dates, and bytes as base64.
            return adapter.validate_json(orjson.dumps([values]))[0]
        except ValidationError as error:
            raise _misfit(error) from None

    return encode, decode


def _list_of(shape: Any) -> Any:
    return list[shape]


def _misfit(error: ValidationError) -> MisfitError:
    """Return the first problem with its path, and the number of others. It never has the value."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in problems[0]["loc"][1:])
    kind = problems[0]["type"]
    what = problems[0]["msg"] if kind in _TELLING else _INSTEAD.get(kind, f"refused by a validator ({kind})")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return MisfitError(f"{path[1:]}: {what}{more}")
