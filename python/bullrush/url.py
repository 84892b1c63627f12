"""The URL of Redis: given by the caller, by the environment, or the local default.

It is parsed in ``src/connection/endpoint/url.rs``.
"""

from __future__ import annotations

import os
from typing import Final

from bullrush._core import read_url
from bullrush.errors import InvalidOptionError
from bullrush.masking import masked

DEFAULT_URL: Final = "redis://127.0.0.1:6379/0"
_VARIABLES: Final = ("BULLRUSH_URL", "REDIS_URL")


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
    try:
        return read_url(url).address
    except InvalidOptionError:
        return masked(url)


def user_of(url: str) -> str | None:
    """Return the user of a URL that can be read; None if it is not known.

    Without a password, the user part may be a password in the wrong place.
    """
    return read_url(url).user


def database(url: str) -> int:
    """Return the number of the database of a URL that can be read."""
    return read_url(url).database


def is_cluster(url: str) -> bool:
    """Tell whether a URL that can be read is that of a cluster."""
    return read_url(url).is_cluster
