"""What a worker has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypedDict

from bullrush._core import CoreProfile
from bullrush.errors import InvalidOptionError
from bullrush.routing.tokens import read_server, read_tokens
from bullrush.values.naming import check_known


class Profile(TypedDict, total=False):
    """What a worker has. It gets the jobs whose `Target` it matches.

    A word has 1 to 64 letters, digits and ``. _ : / + -``. Upper and lower case differ.

    Attributes:
        server: the name of the machine.
        stack: what programs can run here, such as ``["python"]``.
        capabilities: what the machine can do, such as ``["gpu", "cuda:12"]``.
        region: where it is, such as ``["eu"]``.
    """

    server: str | None
    stack: Sequence[str]
    capabilities: Sequence[str]
    region: Sequence[str]


_KNOWN: Final = frozenset(Profile.__annotations__)


def check_profile(name: str, value: object) -> CoreProfile:
    """Return a checked profile.

    Args:
        name: its name in errors.
        value: a `Profile`.

    Raises:
        InvalidOptionError: a member does not exist or has an invalid value.
    """
    if not isinstance(value, Mapping):
        raise InvalidOptionError(
            f"{name} must be a dict of {', '.join(Profile.__annotations__)}, not {type(value).__qualname__}"
        )
    check_known(value, _KNOWN, name)
    return CoreProfile(read_server(name, value), **read_tokens(name, value))
