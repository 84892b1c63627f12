"""The calls that look how a worker does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from bullrush.base.due import STUCK_AFTER
from bullrush.base.operation import operation
from bullrush.job.job import JobT
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.worker.base import WorkerBase
from bullrush.worker.running.run import RunStats

if TYPE_CHECKING:
    from bullrush.worker.monitoring.health import Monitor, WorkerHealth


class MonitorCalls(WorkerBase[JobT]):
    """The calls that look how a worker does."""

    @cached_property
    def _monitor(self) -> Monitor:
        # Imported here, since most workers are not asked: programs start sooner.
        from bullrush.worker.monitoring.health import Monitor

        return Monitor(self)

    @operation
    async def health(self, *, stuck_after: Duration = STUCK_AFTER) -> WorkerHealth:
        """Tell whether the worker runs, reaches Redis and claims the work that is due.

        Args:
            stuck_after: ms. The worker is stuck if a job has been due for this time, may start, and this worker has a
                free slot and claimed nothing for this time.

        Returns:
            The facts. Redis is asked for at most a second.

        Redis: two round trips, in constant time; a second look after 250 ms if the worker seems stuck.
        """
        return await self._monitor.health(checks.milliseconds("stuck_after", stuck_after))

    def stats(self) -> RunStats:
        """Return what this run, or the last one, has done so far: jobs, and the times of its scripts. Asks nobody."""
        return RunStats(0, 0, 0, 0.0) if self._run is None else self._run.stats()

    @operation
    async def export_prometheus_metrics(
        self, labels: Mapping[str, object] | None = None, *, problems: bool = False
    ) -> str:
        """Return metrics of the jobs that this worker has run, in the text format of Prometheus.

        The core counts; no Python code runs per job. The counts begin anew with each run of the worker. Metrics of the
        queue are those of `Queue.export_prometheus_metrics`.

        Args:
            labels: further labels for every line, such as ``{"env": "prod"}``.
            problems: True adds ``bullmq_worker_problem``: 1 for each problem that `health` tells, and 0 for the others.
                It costs what `health` costs, so a second if Redis does not answer.

        Raises:
            InvalidOptionError: a label has a name that Prometheus does not allow.
        """
        from bullrush.worker.monitoring.prometheus import worker_page  # here, as in `_monitor`

        found = None
        if checks.boolean("problems", problems):
            found = (await self._monitor.health(STUCK_AFTER)).problems
        return worker_page(self, labels, found)
