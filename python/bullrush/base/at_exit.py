"""Closing objects with background threads when the program ends."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable
from typing import Final, Protocol


class Closable(Protocol):
    """An object with a background thread."""

    def _close_at_exit(self) -> None:
        """Make the thread end soon; do not wait for it."""


#: Registers a function that is called before the interpreter joins all threads that are not daemons; those registered
#: last are called first. Functions of `atexit` run too late: after that.
before_joining_threads: Final[Callable[[Callable[[], object]], object]] = getattr(
    threading, "_register_atexit", atexit.register
)

_open: weakref.WeakSet[Closable] = weakref.WeakSet()


def close_at_exit(closable: Closable) -> None:
    """Close an object when the program ends, if it still exists then."""
    _open.add(closable)


def forget_at_exit(closable: Closable) -> None:
    """Undo `close_at_exit`: the object is closed already."""
    _open.discard(closable)


def _close_all() -> None:
    for closable in list(_open):
        closable._close_at_exit()


before_joining_threads(_close_all)
