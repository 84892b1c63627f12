"""What goes wrong in a codec."""

from __future__ import annotations


class MisfitError(ValueError):
    """A value does not have its type. The message has the path to it and never the value."""


class UnsupportedTypeError(TypeError):
    """A type that this codec does not know."""


def expected(path: str, wanted: str, value: object) -> MisfitError:
    """Return the error for a value of another type."""
    return MisfitError(f"{path}: {wanted} expected, not {type(value).__qualname__}")
