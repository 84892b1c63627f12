"""The choice of a codec for a signature: nothing but checks, pydantic, or dataclasses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bullrush.tasks.codecs.misfit import MisfitError, UnsupportedTypeError
from bullrush.tasks.codecs.shapes import NEEDS_PYDANTIC, Fields, shape_of

__all__ = ["AsJson", "Codec", "Coder", "MisfitError"]


@dataclass(frozen=True)
class Coder:
    """Turns the named values of one signature into JSON values and back. Made once per signature.

    Attributes:
        encode: gets the values by name and returns JSON values by name; raises `MisfitError`. It may change the dict.
        decode: the reverse.
        is_identity: both return what they get.
    """

    encode: Callable[[dict[str, Any]], dict[str, Any]]
    decode: Callable[[dict[str, Any]], dict[str, Any]]
    is_identity: bool = False


class Codec(Protocol):
    """Makes coders."""

    def compile(self, types: Mapping[str, Any], required: Collection[str]) -> Coder:
        """Return the coder of values with these names and types.

        Args:
            types: the annotation of each name.
            required: the names that must be there.

        Raises:
            TypeError: a type cannot be JSON; the message says which.
        """


class AsJson:
    """Plain JSON types as they are, others through pydantic, or without it through dataclasses."""

    def __init__(self, *, pydantic: bool | None = None) -> None:
        """Take whether to use pydantic; None uses it if it is installed."""
        self._pydantic = pydantic

    def compile(self, types: Mapping[str, Any], required: Collection[str]) -> Coder:
        """Return the coder of values with these names and types; see `Codec.compile`."""
        try:
            return _own(types, required, only_json=True)
        except UnsupportedTypeError:
            pass
        if self._pydantic is not False:
            # Imported here, since only signatures with such types need pydantic.
            try:
                from bullrush.tasks.codecs.with_pydantic import compile_with_pydantic
            except ModuleNotFoundError as error:
                if self._pydantic or error.name != "pydantic":
                    raise
            else:
                return Coder(*compile_with_pydantic(types, required))
        return _own(types, required, only_json=False)


def _own(types: Mapping[str, Any], required: Collection[str], *, only_json: bool) -> Coder:
    try:
        fields = Fields({name: shape_of(hint, name, only_json=only_json) for name, hint in types.items()}, required)
    except RecursionError:
        raise UnsupportedTypeError(f"a dataclass contains itself; {NEEDS_PYDANTIC}") from None
    return Coder(fields.encode, fields.decode, fields.is_identity)
