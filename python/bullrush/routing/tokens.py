"""The lists of words in targets and profiles."""

from __future__ import annotations

from collections.abc import Mapping

from bullrush.errors import InvalidOptionError
from bullrush.values import checks
from bullrush.values.shown import shown


def read_tokens(name: str, given: Mapping[str, object]) -> dict[str, list[str]]:
    """Return the members of a target or profile that are lists of words. The core checks the words.

    Args:
        name: the name of the target or profile in errors.
        given: the target or profile.

    Raises:
        InvalidOptionError: a member is not a list of texts.
    """
    lists: dict[str, list[str]] = {}
    for field in ("stack", "capabilities", "region"):
        value = given.get(field)
        if value is None:
            continue
        if isinstance(value, str):
            raise InvalidOptionError(f"{name}.{field} must be a list: [{shown(value)}]")
        if not isinstance(value, list | tuple | set | frozenset):
            raise InvalidOptionError(f"{name}.{field} must be a list of texts, not {shown(value)}")
        lists[field] = [checks.text(f"{name}.{field}", token) for token in value]
    return lists


def read_server(name: str, given: Mapping[str, object]) -> str | None:
    """Return the name of the server in a target or profile.

    Args:
        name: the name of the target or profile in errors.
        given: the target or profile.

    Raises:
        InvalidOptionError: it is not a text.
    """
    server = given.get("server")
    return None if server is None else checks.text(f"{name}.server", server)
