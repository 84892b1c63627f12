"""Threads in the background end with the program."""

from __future__ import annotations

import atexit
import threading
import weakref
from typing import Protocol


class Closable(Protocol):
    """Something with a thread in the background."""

    def close_at_exit(self) -> None:
        """Let the thread end."""


_open: weakref.WeakSet[Closable] = weakref.WeakSet()


def close_at_exit(closable: Closable) -> None:
    """Close something when the program ends, if it still exists then."""
    _open.add(closable)


def closed(closable: Closable) -> None:
    """Forget something that was closed before."""
    _open.discard(closable)


def _close_all() -> None:
    for closable in list(_open):
        closable.close_at_exit()


# The interpreter joins all threads before it calls what atexit holds, so that would be too late.
getattr(threading, "_register_atexit", atexit.register)(_close_all)
