"""A queue with jobs of a flow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from bullrush._core import CoreQueue, CoreWorkerOptions, ManualWork

if TYPE_CHECKING:
    from bullrush.job.record import Record
    from bullrush.job.source import ProgressListener


@dataclass(eq=False)
class FlowQueue:
    """A queue with jobs of a flow. The calls of these jobs go through it."""

    core: CoreQueue
    url: str
    prefix: str
    name: str
    is_route: bool
    checked: bool = False
    on_progress: ProgressListener | None = None
    backoff_strategy: None = None

    @cached_property
    def manual(self) -> ManualWork:
        """The compiled side of finishing jobs by hand."""
        return ManualWork(self.url, self.prefix, self.name, CoreWorkerOptions())

    def emit(self, event: str, *arguments: object) -> bool:  # noqa: ARG002
        """Return False: it has no listeners."""
        return False

    def classifiers(self, name: str) -> tuple[()]:  # noqa: ARG002
        """Return nothing: classifiers are for workers."""
        return ()

    def record_start(self, record: Record) -> None:
        """Do nothing: only a running worker claims jobs ahead."""
