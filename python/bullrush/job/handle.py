"""The base of queues, job schedulers and workers: handles that jobs come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bullrush._core import CoreWorkerOptions, ManualWork
from bullrush.base.handle import Handle
from bullrush.job.source import BackoffStrategy, ProgressListener
from bullrush.retries import Classifier

if TYPE_CHECKING:
    from bullrush._core import Pending
    from bullrush.job.fields import JobFields
    from bullrush.job.record import Record


class JobHandle(Handle):
    """A handle that jobs come from: a `bullrush.job.source.Source`."""

    _manual: ManualWork | None = None

    @property
    def manual(self) -> ManualWork:
        """Internal: the compiled side of finishing jobs by hand.

        Raises:
            ClosedError: the handle was closed.
        """
        if self._shut:
            raise self._closed_error()
        if self._manual is None:
            self._manual = ManualWork(self._url, self._prefix, self._name, self._core_options())
        return self._manual

    def _forget_url(self) -> None:
        super()._forget_url()
        self._manual = None

    @property
    def backoff_strategy(self) -> BackoffStrategy | None:
        """Internal: the custom backoff strategy; only a worker has one."""
        return None

    def classifiers(self, name: str) -> Sequence[Classifier]:  # noqa: ARG002 - for workers
        """Internal: return what is asked about exceptions of handlers; only a worker has that."""
        return ()

    @property
    def on_progress(self) -> ProgressListener | None:
        """Internal: emits ``progress`` for the jobs that came from here; None if there are no listeners."""
        return self._emit_progress if self._has_listeners("progress") else None

    def record_start(self, record: Record) -> Pending[None] | None:  # noqa: ARG002 - for workers
        """Internal: do nothing, since only a running worker claims jobs ahead."""
        return None

    def _emit_progress(self, job: JobFields, progress: object) -> None:
        self.emit("progress", job, progress)

    def _core_options(self) -> CoreWorkerOptions:
        return CoreWorkerOptions()

    def _shut_down(self) -> None:
        super()._shut_down()
        self._manual = None
