"""Where Redis is: the URL a handle was given, or the environment's, or the local default."""

from __future__ import annotations

import os
import re
from typing import Final

DEFAULT_URL: Final = "redis://127.0.0.1:6379/0"
_VARIABLES: Final = ("BULLRUSH_URL", "REDIS_URL")
_USER_INFO: Final = re.compile(r"(?<=://)([^/@]*):[^@]*@")
_QUERY_PASSWORD: Final = re.compile(r"(?<=[?&]password=)[^&]*")


def resolve(url: str | None) -> str:
    """Return the URL to connect to.

    Args:
        url: what the caller gave. None: ``BULLRUSH_URL``, then ``REDIS_URL``, then `DEFAULT_URL`.
            ``embedded://[dir]`` starts a private server, once per process, or joins the one that runs in ``dir``.
    """
    found = url or next((value for name in _VARIABLES if (value := os.environ.get(name))), DEFAULT_URL)
    if found.startswith("embedded:"):
        # Imported here: only those who want a private server pay for what starts one.
        from bullrush import embedded

        return embedded.resolve(found)
    return found


def masked(url: str) -> str:
    """Return the URL as it may be shown: without its password."""
    return _QUERY_PASSWORD.sub("***", _USER_INFO.sub(r"\1:***@", url))
