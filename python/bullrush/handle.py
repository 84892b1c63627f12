"""A queue's name, place and connection: what `Queue` and `Worker` have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bullrush._core import CoreQueue
from bullrush.errors import ClosedError
from bullrush.naming import check_prefix, check_queue_name
from bullrush.url import masked, resolve

if TYPE_CHECKING:
    from bullrush.record import Progressed


class Handle:
    """Names a queue and connects to it at the first call. All handles of a process and URL share their connections."""

    def __init__(
        self,
        name: str,
        url: str | None,
        prefix: str,
        *,
        max_len_events: int,
        skip_metas_update: bool,
        timeout_ms: int | None,
    ) -> None:
        self._name = check_queue_name(name)
        self._prefix = check_prefix(prefix)
        self._url = resolve(url)
        self._core: CoreQueue | None = CoreQueue(
            self._url,
            self._prefix,
            self._name,
            max_len_events=max_len_events,
            skip_metas_update=skip_metas_update,
            timeout_ms=timeout_ms,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r} at {masked(self._url)}>"

    @property
    def name(self) -> str:
        """The queue's name."""
        return self._name

    @property
    def prefix(self) -> str:
        """The prefix of the queue's keys."""
        return self._prefix

    @property
    def qualified_name(self) -> str:
        """Prefix and name: how the queue's keys begin."""
        return f"{self._prefix}:{self._name}"

    @property
    def progressed(self) -> Progressed | None:
        """Told of the progress of the jobs that came from here."""
        return None

    @property
    def core(self) -> CoreQueue:
        """The compiled side of the queue.

        Raises:
            ClosedError: the handle was closed.
        """
        if self._core is None:
            raise ClosedError(f"{self!r} is closed")
        return self._core
