"""Passes results from the thread that runs a worker to the thread that Spark reads from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_CHUNK: Final = 2_000
_MAX_HELD: Final = 50_000
_SECONDS: Final = 0.5


class Outbox(Generic[T]):
    """Collects results and returns them in chunks: soon if there are few, in thousands if there are many.

    Args:
        full: called when the reader is far behind; it should stop the writer.
        empty: called when the reader has caught up.
    """

    def __init__(self, *, full: Callable[[], object], empty: Callable[[], object]) -> None:
        self._full = full
        self._empty = empty
        self._held: list[T] = []
        self._is_full = False
        self._ended = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def put(self, result: T) -> None:
        """Add one result."""
        with self._changed:
            self._held.append(result)
            count = len(self._held)
            if count == _CHUNK:
                self._changed.notify()
            overflows = count >= _MAX_HELD and not self._is_full
            self._is_full |= overflows
        if overflows:
            self._full()

    def feed(self, run: Callable[[], object]) -> None:
        """Run the function that calls `put`, and end the outbox when it returns or raises."""
        try:
            run()
        except BaseException as error:
            self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify()

    def __iter__(self) -> Iterator[list[T]]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or len(self._held) >= _CHUNK, timeout=_SECONDS)
                taken, self._held = self._held, []
                ended = self._ended
                was_full, self._is_full = self._is_full, False
            if was_full:
                self._empty()
            if taken:
                yield taken
            if ended:
                if self._error is not None:
                    raise self._error
                return
