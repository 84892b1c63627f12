"""Closing objects with background threads when the program ends."""

from __future__ import annotations

import atexit
import threading
import weakref
from typing import Protocol


class Closable(Protocol):
    """An object with a background thread."""

    def close_at_exit(self) -> None:
        """Make the thread end soon; do not wait for it."""


_open: weakref.WeakSet[Closable] = weakref.WeakSet()


def close_at_exit(closable: Closable) -> None:
    """Close an object when the program ends, if it still exists then."""
    _open.add(closable)


def forget_at_exit(closable: Closable) -> None:
    """Undo `close_at_exit`: the object is closed already."""
    _open.discard(closable)


def _close_all() -> None:
    for closable in list(_open):
        closable.close_at_exit()


# Functions of `atexit` run too late: the interpreter joins all threads before it calls them.
getattr(threading, "_register_atexit", atexit.register)(_close_all)
