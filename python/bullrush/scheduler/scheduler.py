"""The calls about job schedulers, and a handle that has only these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, TypedDict

import orjson

from bullrush._core import now_ms
from bullrush.base.closing import BlockingContext
from bullrush.base.handle import Handle
from bullrush.base.operation import operation, options_by_name, reply
from bullrush.base.options import CallOptions, HandleOptions
from bullrush.base.outages import ReportsOutages
from bullrush.errors import MalformedJobError
from bullrush.job.job import Job, JobT
from bullrush.job.new_jobs import new_jobs
from bullrush.job.option_compiler import OptionCompiler, check_job_options, read_options
from bullrush.job.options import JobOptions
from bullrush.scheduler.options import (
    JobTemplate,
    RepeatOptions,
    check_repeat,
    check_scheduler_id,
    check_template,
)
from bullrush.telemetry.protocol import of_many_jobs
from bullrush.values.encoding import JSON, NO_DATA, read_number
from bullrush.values.options import Option, checked_options, declare_options

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from bullrush._core import CoreQueue
    from bullrush.routing.target import Target

_NUMBERS: Final = {
    "ic": "iteration_count",
    "limit": "limit",
    "startDate": "start_date",
    "endDate": "end_date",
    "every": "every",
    "offset": "offset",
}
_TEXTS: Final = ("name", "tz", "dst", "pattern")
#: The last time that JavaScript knows. A score of Redis may be infinite.
_LAST_TIME: Final = 8_640_000_000_000_000


class SchedulerTemplate(TypedDict, total=False):
    """Data and options of the jobs of a scheduler. What is not set is left out."""

    data: JSON
    opts: dict[str, JSON]


class SchedulerJson(TypedDict, total=False):
    """A job scheduler as it is stored in Redis. What is not set is left out.

    Attributes:
        key: the scheduler's id.
        name: the name of its jobs.
        next: when its latest job is due, which may run already; ms since 1970.
        iteration_count: how many jobs it has made.
        limit: how many jobs it makes in all.
        start_date: no job is due before this time; ms since 1970.
        end_date: no job is due after this time; ms since 1970.
        tz: the time zone of the pattern.
        dst: ``"bullmq"`` if days without midnight are skipped; see `RepeatOptions`.
        pattern: the cron pattern.
        every: ms between two jobs.
        offset: ms by which the times of jobs are shifted.
        template: data and options of its jobs.
    """

    key: str
    name: str
    next: int
    iteration_count: int
    limit: int
    start_date: int
    end_date: int
    tz: str
    dst: str
    pattern: str
    every: int
    offset: int
    template: SchedulerTemplate


class SchedulerCalls(Handle, Generic[JobT]):
    """The calls about job schedulers that `Queue` and `JobScheduler` have in common."""

    _compiler: OptionCompiler

    @operation
    async def upsert_job_scheduler(
        self, scheduler_id: str, repeat: RepeatOptions, template: JobTemplate | None = None
    ) -> JobT | None:
        """Create a job scheduler, or update the one with this id, and make its next job.

        If its next job still waits, an update makes that job again from the new template, at the old time. New times
        apply to the jobs after it. To start from the beginning, remove the scheduler first.

        Args:
            scheduler_id: the scheduler's id; at most three colons.
            repeat: when to make jobs; see `RepeatOptions`.
            template: which jobs to make; see `JobTemplate`. With a ``target`` in ``opts`` the scheduler belongs to that
                route: ``Queue.route(target)`` has the calls to read and remove it.

        Returns:
            The next job; None if there is none: the limit is reached, or the pattern has no time before ``end_date``.

        Raises:
            InvalidOptionError: an option does not exist or has an invalid value; nothing was changed.
            SchedulerCollisionError: other jobs have the ids that the next job could have; nothing was changed.

        Redis:
            One script; ``add/add_job_scheduler``.
        """
        check_scheduler_id(scheduler_id)
        rule = check_repeat(repeat)
        wanted = check_template(template)
        name, data = wanted.get("name", scheduler_id), wanted.get("data")
        queue, own = self._routes.of_target(self, wanted.get("opts") or {})
        opts = queue._compiler.template(own)
        job = new_jobs(now_ms())
        job.add(name, NO_DATA if data is None else data, queue._compiler.compile(own))
        if self._telemetry is None:
            scheduled = await reply(queue.core.upsert_job_scheduler(scheduler_id, rule, job, opts))
        else:
            attributes = {"bullmq.job.scheduler.id": scheduler_id}
            with queue.trace("add", f"{queue.name}.{name}", kind="producer", attributes=attributes) as span:
                job_telemetry = of_many_jobs(
                    self._telemetry.metadata(), read_options(orjson.loads(opts)).get("telemetry")
                )
                metadata = orjson.dumps(job_telemetry["metadata"])
                scheduled = await reply(queue.core.upsert_job_scheduler(scheduler_id, rule, job, opts, metadata))
                if scheduled is not None:
                    span.set_attributes({"bullmq.job.id": scheduled.id})
        return None if scheduled is None else queue._job(scheduled)

    @operation
    async def get_job_schedulers(self, start: int = 0, end: int = -1, asc: bool = False) -> list[SchedulerJson]:
        """Return job schedulers, ordered by the time of their next job.

        Args:
            start: the first position.
            end: the last position; -1 is the end.
            asc: the earliest time first; by default the latest time is first.
        """
        return [_scheduler(*scheduler) for scheduler in await reply(self.core.schedulers(start, end, asc))]

    @operation
    async def remove_job_scheduler(self, scheduler_id: str) -> bool:
        """Remove a job scheduler, and its next job if that is delayed.

        Args:
            scheduler_id: the id of the job scheduler.

        Returns:
            False if there is no such scheduler.
        """
        return await reply(self.core.remove_job_scheduler(scheduler_id))


@declare_options
class SchedulerOptions(HandleOptions, CallOptions, total=False):
    """Options of a `JobScheduler` object."""

    default_job_options: Annotated[
        JobOptions | None,
        Option(
            check_job_options,
            doc="options for every job of these schedulers; those of a template take precedence.",
        ),
    ]


class JobSchedulerCalls(ReportsOutages, SchedulerCalls[JobT]):
    """The calls of a `JobScheduler`, written once for both APIs."""

    _events: ClassVar[Mapping[str, str]] = {"error": "(error)"}

    @options_by_name
    def __init__(self, name: str, **options: Unpack[SchedulerOptions]) -> None:
        """Make a handle of the job schedulers of a queue. It connects at the first call.

        Args:
            name: the queue's name.
            options: see `SchedulerOptions`.

        Raises:
            QueueNameError: the name is empty, or has a colon or control characters.
            InvalidOptionError: an option does not exist or has an invalid value.
        """
        settings = checked_options(SchedulerOptions, options, type(self).__name__)
        super().__init__(name, settings, options)
        self._compiler = OptionCompiler(settings.default_job_options)

    def route(self, target: Target) -> Self:
        """Return the job schedulers of the route with this target; see `Queue.route`.

        Args:
            target: what the jobs need. Without any criterion the result is this object.
        """
        return self._routes.to(self, target)

    @operation
    async def get_scheduler(self, scheduler_id: str) -> SchedulerJson | None:
        """Return the job scheduler with this id, None if there is none.

        Args:
            scheduler_id: the id of the job scheduler.
        """
        return await read_scheduler(self.core, scheduler_id)

    @operation
    async def get_schedulers_count(self) -> int:
        """Return the number of job schedulers."""
        return await reply(self.core.count_schedulers())


class JobScheduler(BlockingContext, JobSchedulerCalls[Job]):
    """The job schedulers of a queue. Its calls block; `bullrush.aio.JobScheduler` has the same calls to be awaited."""

    _job_type = Job


async def read_scheduler(core: CoreQueue, scheduler_id: str) -> SchedulerJson | None:
    """Return a job scheduler, None if there is none; awaited inside an operation."""
    found = await reply(core.scheduler(scheduler_id))
    return None if found is None else _scheduler(*found)


def _scheduler(key: str, due: float, stored: Iterable[tuple[str, str]]) -> SchedulerJson:
    fields = dict(stored)
    found: dict[str, Any] = {"key": key, "next": int(max(-_LAST_TIME, min(due, _LAST_TIME)))}
    found |= {name: fields[name] for name in _TEXTS if name in fields}
    found |= {name: read_number(fields[wire]) for wire, name in _NUMBERS.items() if wire in fields}
    try:
        template = {name: orjson.loads(fields[name]) for name in ("data", "opts") if name in fields}
    except ValueError as error:
        raise MalformedJobError(f"Malformed job scheduler {key}: its data or opts are not valid JSON") from error
    if "opts" in template:
        template["opts"] = read_options(template["opts"])
    if template:
        found["template"] = template
    return found  # type: ignore[return-value]
