"""Monitoring a queue: its workers, its metrics and its limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, Literal, TypedDict, cast

from bullrush.base.due import due_work
from bullrush.base.handle import Handle
from bullrush.base.operation import operation, reply
from bullrush.errors import InvalidOptionError, RedisServerError
from bullrush.job.calls.dependencies import DependencyPage, dependency_page
from bullrush.queue.getters import counts_of
from bullrush.queue.routing.routes import cores_by_route, registered_routes
from bullrush.values import checks
from bullrush.values.encoding import JSON

if TYPE_CHECKING:
    from bullrush._core import Pending
    from bullrush._core.reads import Connection

_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
#: Labels of the metrics themselves.
_OURS: Final = frozenset(["queue", "state", "reason", "route", "problem", "script", "le"])
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class MetricsMeta(TypedDict):
    """The number of finished jobs in all (``count``), and when the newest minute of the series ended (``prev_ts``)."""

    count: int
    prev_ts: int
    prev_count: int


class Metrics(TypedDict):
    """Finished jobs per minute, newest minute first, and the number of minutes."""

    meta: MetricsMeta
    data: list[int]
    count: int


class QueueMonitoring(Handle):
    """The calls for monitoring."""

    @operation
    async def get_workers(self) -> list[dict[str, str]]:
        """Return the connected workers of the queue and of its routes, from all programs and languages.

        A worker with a profile is a worker of the queue; one of a queue of this name in another database is not. Each
        has the fields of Redis' CLIENT LIST. ``name`` is the queue's name. ``rawname`` is the name of the connection;
        it ends in ``:w:<name>`` if the worker has a name.
        """
        return await self._workers()

    @operation
    async def get_workers_count(self) -> int:
        """Return the number of connected workers of the queue and of its routes."""
        return len(await self._workers())

    async def _workers(self) -> list[dict[str, str]]:
        names = [self.name, *await registered_routes(self, retired=True)]
        return await self._clients(self.core.worker_connections(names))

    @operation
    async def get_queue_events(self) -> list[dict[str, str]]:
        """Return the connections that read the queue's events (`QueueEvents`); see `get_workers`."""
        return await self._clients(self.core.event_connections([self.name]))

    async def _clients(self, asked: Pending[list[Connection]]) -> list[dict[str, str]]:
        try:
            found = await reply(asked)
        except RedisServerError as error:
            if "unknown" not in str(error).lower():
                raise
            return [{"name": "GCP does not support client list"}]
        clients = [(queue, dict(fields)) for queue, fields in found]
        return [{**client, "name": queue, "rawname": client["name"]} for queue, client in clients]

    @operation
    async def get_metrics(self, type: Literal["completed", "failed"], start: int = 0, end: int = -1) -> Metrics:
        """Return the number of finished jobs, per minute and in all. Workers with the option ``metrics`` count them.

        Args:
            type: completed, or failed (for good).
            start: the first minute; 0 is the newest complete one.
            end: the last minute; -1 is the oldest.
        """
        if type not in {"completed", "failed"}:
            raise InvalidOptionError(f"type must be 'completed' or 'failed', not {type!r}")
        return cast("Metrics", await reply(self.core.metrics(type, start, end)))

    @operation
    async def export_prometheus_metrics(
        self, labels: Mapping[str, object] | None = None, *, oldest_job: bool = False, routes: bool = False
    ) -> str:
        """Return metrics of the queue in the text format of Prometheus.

        These are ``bullmq_job_count`` per state and, if workers count metrics, ``bullmq_job_completed_total`` and
        ``bullmq_job_failed_total``.

        Args:
            labels: further labels for every line, such as ``{"env": "prod"}``.
            oldest_job: True adds ``bullmq_oldest_due_job_age_seconds``: for how long the oldest job that is due has
                waited, 0 if none is. It costs two round trips, also per route.
            routes: True adds the lines of each route of the queue, with its name as ``queue``. A queue may have 256
                that are in use, and any number that have retired and still have finished jobs.

        Raises:
            InvalidOptionError: a label has a name that Prometheus does not allow.
        """
        _, further = prometheus_labels(self.name, labels)
        cores = {self.name: self.core}
        if checks.boolean("routes", routes):
            cores |= await cores_by_route(self, retired=True)
        counted = dict(zip(cores, await counts_of(cores.values()), strict=True))
        if len(cores) > 1:
            live = {self.name, *await registered_routes(self)}
            cores = {name: core for name, core in cores.items() if name in live or any(counted[name].values())}
        queues = {name: prometheus_labels(name, None)[0] for name in cores}
        lines = ["# HELP bullmq_job_count Number of jobs in the queue by state", "# TYPE bullmq_job_count gauge"]
        for name, queue in queues.items():
            lines += [
                f'bullmq_job_count{{{queue}, state="{state}"{further}}} {count}'
                for state, count in counted[name].items()
            ]
        kinds = ("completed", "failed")
        totals = [await reply(self.core.metric_totals(list(cores), kind)) for kind in kinds]
        if any(total is not None for of_kind in totals for total in of_kind):
            for kind, of_kind in zip(kinds, totals, strict=True):
                metric = f"bullmq_job_{kind}_total"
                lines += [f"# HELP {metric} Total number of {kind} jobs", f"# TYPE {metric} counter"]
                for queue, total in zip(queues.values(), of_kind, strict=True):
                    lines.append(f"{metric}{{{queue}{further}}} {total or 0}")
        if oldest_job:
            metric = "bullmq_oldest_due_job_age_seconds"
            lines += [f"# HELP {metric} Time that the oldest job that is due has waited", f"# TYPE {metric} gauge"]
            for name, core in cores.items():
                age = (await due_work(core)).oldest_age or 0
                lines.append(f"{metric}{{{queues[name]}{further}}} {age / 1000}")
        return "\n".join(lines)

    @operation
    async def get_counts_per_priority(self, priorities: Iterable[int]) -> dict[str, int]:
        """Return the number of waiting jobs per priority, such as ``{"1": 7, "0": 2}``; 0 is no priority.

        Args:
            priorities: the priorities to count.
        """
        wanted = list(dict.fromkeys(checks.priority("priorities", priority) for priority in priorities))
        counts = await reply(self.core.count_per_priority(wanted))
        return {str(priority): count for priority, count in zip(wanted, counts, strict=True)}

    @operation
    async def get_rate_limit_ttl(self, max_jobs: int | None = None) -> int:
        """Return for how many ms the rate limit lets no job start.

        Args:
            max_jobs: the ``max`` of the limiter; by default that of the global rate limit.

        Returns:
            0 while fewer than ``max_jobs`` jobs have started. Without any ``max`` it is the TTL of the current limit:
            -2 if there is none, -1 if it does not end.
        """
        most = None if max_jobs is None else checks.at_least(1)("max_jobs", max_jobs)
        return await reply(self.core.rate_limit_ttl(most))

    @operation
    async def get_dependencies(
        self, parent_id: str, type: Literal["processed", "pending"], start: int, end: int
    ) -> DependencyPage:
        """Return completed or unfinished children of a job, in no particular order.

        Args:
            parent_id: the id of the parent job.
            type: processed (completed) or pending (unfinished).
            start: the first position.
            end: the last position; -1 is the end.
        """
        if type not in {"processed", "pending"}:
            raise InvalidOptionError(f"type must be 'processed' or 'pending', not {type!r}")
        return await dependency_page(self.core, parent_id, type, start, end)


def prometheus_labels(queue: str, labels: Mapping[str, object] | None) -> tuple[str, str]:
    """Return the label of a queue, and further ones, each with a comma before it.

    Raises:
        InvalidOptionError: a label has a name that Prometheus does not allow.
    """
    for name in labels or {}:
        if not _LABEL.fullmatch(name) or name in _OURS:
            raise InvalidOptionError(f"{name!r} cannot be the name of a Prometheus label here")
    further = "".join(f', {name}="{escaped_label(value)}"' for name, value in (labels or {}).items())
    return f'queue="{escaped_label(queue)}"', further


def escaped_label(value: JSON) -> str:
    """Return a value as Prometheus reads it between quotes."""
    return str(value).translate(_ESCAPES)
