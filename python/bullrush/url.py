"""The URL of Redis: given by the caller, by the environment, or the local default."""

from __future__ import annotations

import os
import re
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from bullrush.errors import InvalidOptionError
from bullrush.masking import PLAIN, masked

_DEFAULT_PORT: Final = 6379
DEFAULT_URL: Final = "redis://127.0.0.1:6379/0"
_VARIABLES: Final = ("BULLRUSH_URL", "REDIS_URL")
_SENTINEL_PORT: Final = 26379


def check_url(name: str, url: object) -> str | None:
    """Return a URL as the caller gave it.

    Raises:
        InvalidOptionError: it is no text, such as the client of another library.
    """
    if url is None or isinstance(url, str):
        return url
    # Without the object itself: its text may show a password.
    raise InvalidOptionError(
        f"{name} must be a str, not {type(url).__name__}: bullrush makes its own connections, so pass the URL, such as "
        f"url='{DEFAULT_URL}'"
    )


def given_url(url: str | None) -> str:
    """Return the URL of the caller, else that of the environment, else the local default; as it was written."""
    return url or next((value for name in _VARIABLES if (value := os.environ.get(name))), DEFAULT_URL)


def resolve(url: str | None) -> str:
    """Return the URL to connect to.

    Args:
        url: the caller's URL. None: ``BULLRUSH_URL``, then ``REDIS_URL``, then `DEFAULT_URL`. ``embedded://[dir]``
            starts a private server, once per process and directory.
    """
    found = given_url(url)
    if found.startswith("embedded:"):
        # Imported here, since most programs need no private server.
        from bullrush import embedded

        return embedded.resolve(found)
    return found


def address(url: str) -> str:
    """Return the host and the port of a URL, or the path of a Unix socket; nothing else, so no password.

    For Sentinel and Cluster these are all hosts of the URL, as in the errors of the core.
    """
    plain = PLAIN.fullmatch(url)
    if plain is None:
        return masked(url)
    place, service = plain.group("place", "service")
    if place.startswith("/") and plain.group("scheme") == "unix://":
        return place
    port = _SENTINEL_PORT if service else _DEFAULT_PORT
    hosts = ",".join(_with_port(host or "127.0.0.1", port) for host in plain.group("hosts").split(","))
    kind = f" (Sentinel, {service})" if service else " (cluster)" if plain.group("cluster") else ""
    return hosts + kind


def user_of(url: str) -> str | None:
    """Return the user of a URL; None if it is not known.

    Without a password, the user part may be a password in the wrong place.
    """
    plain = PLAIN.fullmatch(url)
    if plain is None or (plain["user"] and plain["password"] is None):
        return None
    return unquote(plain["user"] or "") or "default"


def database(url: str) -> int:
    """Return the number of the database of a URL that can be read."""
    parts = urlsplit(url)
    # The path of a socket is a file, and the first part of a path for Sentinels names the master.
    _, *path = parts.path.split("/")
    path = path[1:] if parts.scheme.endswith("+sentinel") else path
    numbers = parse_qs(parts.query).get("db", []) if parts.scheme == "unix" else path
    return int(numbers[-1]) if numbers and numbers[-1].isdecimal() else 0


def _with_port(host: str, port: int) -> str:
    return host if re.search(r":\d+$", host) else f"{host}:{port}"
