"""A queue with jobs of a flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bullrush._core import CoreQueue


@dataclass(eq=False)
class FlowQueue:
    """A queue with jobs of a flow. The calls of these jobs go through it."""

    core: CoreQueue
    prefix: str
    name: str
    is_route: bool
    checked: bool = False
    _job_worker: None = None

    def _report_progress(self, job: Any, progress: object) -> None:
        """Do nothing: it has no listeners."""

    def emit(self, event: str, *arguments: object) -> bool:  # noqa: ARG002
        """Return False: it has no listeners."""
        return False
