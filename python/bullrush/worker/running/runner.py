"""What all runners have in common: they take jobs from the core and run handlers on them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from bullrush.errors import ClosedError

if TYPE_CHECKING:
    from bullrush._core import CoreWorker, JobRecord


class Runner(Protocol):
    """Runs handlers until the core has no more jobs, then calls ``on_end``.

    ``on_error`` gets an exception that ends the run.
    """

    on_end: Callable[[], None]
    on_error: Callable[[BaseException], None]

    def start(self) -> None:
        """Start taking jobs."""

    def resize(self, slots: int) -> None:
        """Set how many jobs, or batches, run at the same time, in the core too."""

    def cancel(self, job_id: str, token: str) -> None:
        """Stop the handler of a job, if it can be stopped. If a token is given, only a handler that runs under it."""

    def stop_starting(self) -> None:
        """Start nothing more that has no job yet: the worker closes."""

    def cancel_all(self) -> None:
        """Stop all running handlers: the worker's deadline to close has passed."""

    def unfinished(self) -> list[JobRecord]:
        """Return the jobs that handlers have, without those that have an outcome."""

    def join(self) -> None:
        """Wait until the last handler has returned."""

    def is_current(self) -> bool:
        """Tell whether the caller is a handler."""

    def is_lost(self, *, at_exit: bool = False) -> bool:
        """Tell whether the running handlers cannot continue; with ``at_exit``, when the program ends now."""

    def give_back(self) -> None:
        """Give back the jobs of all handlers, since they cannot continue."""


def give_back(core: CoreWorker, records: Iterable[JobRecord]) -> None:
    """Give back those of these jobs that have no result yet."""
    for record in records:
        with contextlib.suppress(ClosedError):
            core.give_back(record)


def nothing(_error: BaseException | None = None) -> None:
    """Do nothing: what a runner calls until the run has set ``on_end`` and ``on_error``."""
