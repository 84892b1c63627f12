"""Where jobs come from and call back to: what queues, schedulers and workers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bullrush._core import ManualWork, WorkerTerms
from bullrush.base.handle import Handle
from bullrush.job.fields import BackoffStrategy, JobFields, Progressed

if TYPE_CHECKING:
    from bullrush._core import Pending
    from bullrush.job.record import Record


class JobSource(Handle):
    """A handle whose jobs call back to it: it is a `bullrush.job.fields.Source`."""

    _manual: ManualWork | None = None

    @property
    def manual(self) -> ManualWork:
        """The compiled side of finishing jobs by hand.

        Raises:
            ClosedError: the handle was closed.
        """
        self.core  # noqa: B018 - refuses if closed
        if self._manual is None:
            self._manual = ManualWork(self._url, self._prefix, self._name, self._terms())
        return self._manual

    @property
    def backoff_strategy(self) -> BackoffStrategy | None:
        """What decides on retries of jobs with a backoff type of their own."""
        return None

    @property
    def progressed(self) -> Progressed | None:
        """Told of the progress of the jobs that came from here, if someone wants to know."""
        return self._announce_progress if self.has_listeners("progress") else None

    def put_start_on_record(self, record: Record) -> Pending[None] | None:  # noqa: ARG002 - for workers
        """Do nothing: only a running worker claims jobs ahead."""
        return None

    def _announce_progress(self, job: JobFields, progress: object) -> None:
        self.emit("progress", job, progress)

    def _terms(self) -> WorkerTerms:
        return WorkerTerms()

    def _shut_down(self) -> None:
        super()._shut_down()
        self._manual = None
