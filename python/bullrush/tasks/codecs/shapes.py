"""The shape of a type: how its values are checked and converted, without pydantic."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, Union

from bullrush.tasks.codecs.misfit import MisfitError, UnsupportedTypeError, expected
from bullrush.tasks.codecs.scalars import JSON_TYPES, SCALARS, enum_shape

#: Takes a value and its path, and returns the converted value or raises `MisfitError`.
Convert: TypeAlias = Callable[[Any, str], Any]

NEEDS_PYDANTIC: Final = "install pydantic for it: pip install 'bullrush[tasks]'"
_LISTS: Final = (list, Sequence, Iterable, Collection)
_SETS: Final = (set, frozenset)
_MAPS: Final = (dict, Mapping)

Found = TypeVar("Found")


class Shape(NamedTuple):
    """How values of a type are checked and converted.

    Attributes:
        exact: a value whose class is one of these is right as it is.
        encode: for other values; None: they need no check.
        decode: the reverse.
        is_identity: a value and its JSON are the same.
        is_text: its JSON is a text of a certain form.
    """

    exact: frozenset[type]
    encode: Convert | None
    decode: Convert | None
    is_identity: bool = True
    is_text: bool = False


class Fields:
    """The shapes of named values: the arguments of a task, or the fields of a dataclass."""

    def __init__(self, shapes: Mapping[str, Shape], required: Collection[str]) -> None:
        self._required = frozenset(required)
        self._encoders = [(name, one.exact, one.encode) for name, one in shapes.items() if one.encode]
        self._decoders = {name: (one.exact, one.decode) for name, one in shapes.items()}
        self.is_identity: bool = all(shape.is_identity for shape in shapes.values())

    def encode(self, values: dict[str, Any], path: str = "") -> dict[str, Any]:
        """Convert the values to JSON, in place."""
        for name, exact, convert in self._encoders:
            if name in values and type(value := values[name]) not in exact:
                values[name] = convert(value, path + name)
        return values

    def decode(self, values: dict[str, Any], path: str = "") -> dict[str, Any]:
        """Convert JSON to the values, in place. No name may be missing, and none unknown."""
        decoders = self._decoders
        if len(values) < len(decoders) and (missing := self._required - values.keys()):
            raise MisfitError(f"{path}{min(missing)}: missing")
        for name, value in values.items():
            found = decoders.get(name)
            if found is None:
                raise MisfitError(f"{path}{name}: no such argument")
            exact, convert = found
            if type(value) not in exact and convert is not None:
                values[name] = convert(value, path + name)
        return values


def shape_of(hint: Any, path: str, *, only_json: bool) -> Shape:
    """Return the shape of a type.

    Args:
        hint: the annotation.
        path: where it stands, for the error.
        only_json: refuse types that need another form in JSON.

    Raises:
        UnsupportedTypeError: it has no shape.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)

    def part(inner: Any, step: str = "") -> Shape:
        return shape_of(inner, path + step, only_json=only_json)

    if (shape := _found(JSON_TYPES, hint)) is not None:
        return Shape(*shape)
    if origin in {Union, types.UnionType}:
        return _union([part(one) for one in arguments])
    if origin is Literal and all(type(one) in {str, int, bool, type(None)} for one in arguments):
        return _literal(arguments)
    if origin in _LISTS and len(arguments) == 1:
        return _list(part(arguments[0], "[]"), list, list if origin is list else (list, tuple))
    if origin in _MAPS and arguments and arguments[0] is str:
        return _map(part(arguments[1], "{}"), origin)
    if only_json:
        raise UnsupportedTypeError(f"{path}: {hint!r}")
    return _converted(hint, origin, arguments, path, part)


def _converted(hint: Any, origin: Any, arguments: tuple[Any, ...], path: str, part: Callable[..., Shape]) -> Shape:
    if (scalar := _found(SCALARS, hint)) is not None:
        return Shape(frozenset(), *scalar, is_identity=False, is_text=True)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Shape(frozenset(), *enum_shape(hint), is_identity=False)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _dataclass(hint, part)
    if origin in _SETS or (origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis):
        return _list(part(arguments[0], "[]"), origin, origin)
    raise UnsupportedTypeError(f"{path}: the type {hint!r} has no form in JSON; {NEEDS_PYDANTIC}")


def _found(table: Mapping[Any, Found], hint: Any) -> Found | None:
    try:
        return table.get(hint)
    except TypeError:  # an Annotated with a part that has no hash
        return None


def _union(members: list[Shape]) -> Shape:
    exact = frozenset[type]().union(*(one.exact for one in members))
    if any(one.encode is None for one in members):
        return Shape(exact, None, None)
    identical = all(one.is_identity for one in members)

    def convert(way: Literal["encode", "decode"]) -> Convert:
        ways: list[tuple[frozenset[type], Convert]] = [(one.exact, getattr(one, way)) for one in members]

        def one_of(value: Any, path: str) -> Any:
            problem = None
            for exact, attempt in ways:
                if type(value) in exact:
                    return value
                try:
                    return attempt(value, path)
                except MisfitError as error:
                    problem = error if problem is None or len(str(error)) > len(str(problem)) else problem
            raise problem or expected(path, "another type", value)

        return one_of

    # A text may be a date: the first member that it fits counts.
    at_once = exact - {str} if any(one.is_text for one in members) else exact
    return Shape(at_once, convert("encode"), convert("decode"), identical)


def _literal(choices: tuple[Any, ...]) -> Shape:
    def check(value: Any, path: str) -> Any:
        if not any(type(value) is type(one) and value == one for one in choices):
            raise MisfitError(f"{path}: {' or '.join(map(repr, choices))} expected")
        return value

    return Shape(frozenset(), check, check)


def _list(item: Shape, made: type, given: Any) -> Shape:
    """Return the shape of a list in JSON, which is ``made`` in Python; a program may give one of ``given``."""

    def convert(exact: frozenset[type], one: Convert | None, takes: Any, result: type) -> Convert:
        def each(value: Any, path: str) -> Any:
            if not isinstance(value, takes):
                raise expected(path, made.__name__, value)
            if one is None:
                return result(value)
            return result([x if type(x) in exact else one(x, f"{path}[{index}]") for index, x in enumerate(value)])

        return each

    to_json = convert(item.exact, item.encode, given, list)
    from_json = convert(item.exact, item.decode, list, made)
    return Shape(frozenset(), to_json, from_json, item.is_identity and made is list)


def _map(member: Shape, given: Any) -> Shape:
    def convert(one: Convert | None) -> Convert:
        def each(value: Any, path: str) -> Any:
            if not isinstance(value, given):
                raise expected(path, "dict", value)
            if one is None:
                return dict(value)
            exact = member.exact
            return {key: x if type(x) in exact else one(x, f"{path}.{key}") for key, x in value.items()}

        return each

    return Shape(frozenset(), convert(member.encode), convert(member.decode), member.is_identity)


def _dataclass(made: Any, part: Callable[..., Shape]) -> Shape:
    hints = typing.get_type_hints(made)
    shapes = {field.name: part(hints[field.name], f".{field.name}") for field in dataclasses.fields(made) if field.init}
    absent = dataclasses.MISSING
    required = [
        field.name
        for field in dataclasses.fields(made)
        if field.init and field.default is absent and field.default_factory is absent
    ]
    fields = Fields(shapes, required)

    def encode(value: Any, path: str) -> Any:
        if not isinstance(value, made):
            raise expected(path, made.__name__, value)
        return fields.encode({name: getattr(value, name) for name in shapes}, f"{path}.")

    def decode(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise expected(path, "an object", value)
        return made(**fields.decode(dict(value), f"{path}."))

    return Shape(frozenset(), encode, decode, is_identity=False)
