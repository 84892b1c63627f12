"""Where Redis is: the URL a handle was given, or the environment's, or the local default."""

from __future__ import annotations

import os
import re
from typing import Final

DEFAULT_URL: Final = "redis://127.0.0.1:6379/0"
_VARIABLES: Final = ("BULLRUSH_URL", "REDIS_URL")
#: The one form of a URL of which all but the password may be shown. What a URL means that deviates from it, nobody knows.
_PLAIN: Final = re.compile(
    r"""(?P<scheme>[a-z]+://)
        (?:(?P<user>[^\s:/?\#@]*)(?P<password>:[^\s/?\#]*)?@)?
        (?P<place>(?:[\w.-]+|\[[0-9a-fA-F:.]+\])?(?::\d+)?(?:/\d*|(?<=://)/[^\s?\#@]+)?)
        (?:\?(?P<query>[^\s\#@]*))?""",
    re.VERBOSE,
)
#: Parameters that say nothing secret.
_SHOWN: Final = re.compile(r"(?:db|protocol)=\w{1,5}")


def resolve(url: str | None) -> str:
    """Return the URL to connect to.

    Args:
        url: what the caller gave. None: ``BULLRUSH_URL``, then ``REDIS_URL``, then `DEFAULT_URL`.
            ``embedded://[dir]`` starts a private server, once per process and directory.
    """
    found = url or next((value for name in _VARIABLES if (value := os.environ.get(name))), DEFAULT_URL)
    if found.startswith("embedded:"):
        # Imported here: only those who want a private server pay for what starts one.
        from bullrush import embedded

        return embedded.resolve(found)
    return found


def masked(url: str) -> str:
    """Return the URL as it may be shown: without its password."""
    plain = _PLAIN.fullmatch(url)
    if plain is None:
        scheme, found, _ = url.partition("://")
        return f"{scheme}://***" if found and scheme.isascii() and scheme.replace("+", "").isalpha() else "***"
    scheme, user, password, place, query = plain.group("scheme", "user", "password", "place", "query")
    # Somebody may have taken the place of the user for that of the password.
    login = "" if user is None else "***@" if password is None else f"{user}:***@"
    return scheme + login + place + ("" if query is None else "?" + "&".join(map(_parameter, query.split("&"))))


def _parameter(text: str) -> str:
    return text if _SHOWN.fullmatch(text) else "***"
