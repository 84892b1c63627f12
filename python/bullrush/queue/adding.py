"""Adding jobs to a queue: one, many, or the rows of Arrow data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, NamedTuple

from bullrush._core import AutoIds, now_ms
from bullrush.base.handle import Handle
from bullrush.base.operation import operation, reply
from bullrush.errors import InvalidOptionError
from bullrush.job.job import JobT
from bullrush.job.new_jobs import new_jobs
from bullrush.job.option_compiler import JOB_OPTIONS, CompiledOptions, OptionCompiler
from bullrush.job.options import JobOptions, NewJob
from bullrush.job.row_options import RowColumns, RowOptions, row_plan
from bullrush.telemetry.protocol import Telemetry, of_many_jobs, of_one_job
from bullrush.values.encoding import JSON, NO_DATA
from bullrush.values.naming import check_known

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from bullrush._core import NewJobs, Pending

#: The most job names in the span of `Queue.add_bulk`.
_MAX_NAMES: Final = 100
_NEW_JOB: Final = frozenset({"name", "data", "opts"})


class AddedIds(list[str]):
    """The ids of added jobs, in the order of the rows.

    Attributes:
        duplicates: the positions of jobs whose id existed already: for these nothing was added.
    """

    def __init__(self, ids: Iterable[str], duplicates: Sequence[int]) -> None:
        super().__init__(ids)
        self.duplicates = duplicates


class QueueAdding(Handle, Generic[JobT]):
    """The calls that add jobs."""

    _compiler: OptionCompiler

    @operation
    async def add(self, name: str, data: JSON = NO_DATA, **options: Unpack[JobOptions]) -> JobT:
        """Add a job.

        Args:
            name: the kind of job; a handler can decide by it what to do.
            data: any JSON value; ``{}`` by default.
            options: see `JobOptions`: ``delay``, ``priority``, ``attempts``, ``backoff``, ``job_id``, ``target``...

        Returns:
            The job; with a ``target`` it belongs to that route. If a job with its ``job_id`` or deduplication id
            exists, nothing is added and the result has the id of that job.

        Raises:
            DataError: a part of the data is not JSON; the message has its path.
            InvalidOptionError: an option does not exist or has an invalid value.
            ParentNotFoundError: the job's parent does not exist.
            ParentReplacedError: a job with this id exists and has another parent.
            RouteLimitError, RouteCollisionError: the queue cannot have a route for the ``target``.
            ConnectionLostError: Redis could not be reached; the job was not added.
            OutcomeUnknownError: the connection broke; the job was added or not.

        Redis:
            One script: ``add/add_jobs``, or ``add/add_linked_jobs`` for a job with a parent or a deduplication id. Jobs
            that threads or coroutines add while a call of ``add/add_jobs`` is in flight share the next call.
        """
        queue, given = self._routes.of_target(self, options) if "target" in options else (self, options)
        if self._telemetry is None:
            job = await queue._add_one(name, data, given)
        else:
            job = await queue._add_traced(self._telemetry, name, data, given)
        self.emit("waiting", job)
        return job

    @operation
    async def add_bulk(self, jobs: Iterable[NewJob]) -> list[JobT]:
        """Add many jobs, with the same result as `add` for each, but much faster.

        Args:
            jobs: dicts of ``name``, ``data`` and ``opts``; see `NewJob`.

        Returns:
            The jobs in the order given.

        Raises:
            DataError, InvalidOptionError: one job is invalid; no job was added.
            RouteLimitError, RouteCollisionError: the queue cannot have a route for one ``target``; no job was added.
            ParentNotFoundError, ParentReplacedError: the parent of one job is wrong; none of its part of 250 was added,
                earlier parts were.
            ConnectionLostError, OutcomeUnknownError: some of the jobs may have been added.
            RedisServerError: the server refused one part, for instance because it is full; earlier parts were added.

        Redis:
            ``add/add_jobs`` per 250 jobs; each job is stored atomically, the whole list is not. If a job has a parent
            or a deduplication id: ``add/add_linked_jobs`` per 250 jobs, each part atomically. Jobs with a ``target``
            need calls of their own for each route.
        """
        if self._telemetry is None:
            return await self._add_everywhere(*self._encoded(jobs))
        with self.trace("addBulk", kind="producer") as span:
            traced = partial(self._with_context, self._telemetry.metadata())
            checked = [{**_checked_job(job), "opts": traced(job.get("opts") or {})} for job in jobs]
            new, routed = self._encoded(checked)
            names = [*new.names(_MAX_NAMES), *routed.names(_MAX_NAMES)][:_MAX_NAMES]
            span.set_attributes({"bullmq.job.bulk.names": names, "bullmq.job.bulk.count": len(checked)})
            return await self._add_everywhere(new, routed)

    def _encoded(self, jobs: Iterable[Mapping[str, object]]) -> tuple[NewJobs, RoutedJobs[JobT]]:
        """Return the jobs of this queue, and those of its routes. All jobs are checked before any is sent."""
        now = now_ms()
        new, routed = new_jobs(now), RoutedJobs[JobT](now)

        def odd(job: NewJob) -> CheckedJob | None:
            job = _checked_job(job)
            queue, opts = self._routes.of_target(self, job.get("opts") or {})
            checked = CheckedJob(job.get("name"), job.get("data", NO_DATA), queue._compiler.compile(opts))
            if queue is self:
                return checked
            routed.add(queue, checked)
            return None

        new.extend(jobs, self._compiler.compile, odd)
        return new, routed

    async def _add_everywhere(self, new: NewJobs, routed: RoutedJobs[JobT]) -> list[JobT]:
        """Add jobs here and to routes. Returns all jobs in the order in which they were given."""
        if not routed.queues:
            return await self._add_many(new)
        # A route that cannot be registered is an error before any job is added.
        for ready in [route.core.prepare() for route in routed.by_route]:
            await reply(ready)
        adding = {route: route._send(jobs) for route, jobs in routed.by_route.items()}
        plain = iter(await self._add_many(new))
        of_routes = {}
        for route, (pending, jobs) in adding.items():
            await reply(pending)
            of_routes[route] = iter(jobs)
        in_order = (next(of_routes[route]) for route in routed.queues)
        left_out = set(new.left_out())
        return [next(in_order if at in left_out else plain) for at in range(len(new) + len(routed.queues))]

    async def _add_many(self, new: NewJobs) -> list[JobT]:
        if not new:
            return []
        pending, jobs = self._send(new)
        await reply(pending)
        return jobs

    def _send(self, new: NewJobs) -> tuple[Pending[None], list[JobT]]:
        pending = self.core.add_jobs(new)
        # While the server works.
        return pending, [self._job(record) for record in new.records()]

    async def _add_traced(self, telemetry: Telemetry, name: str, data: JSON, options: Mapping[str, object]) -> JobT:
        with self.trace("add", f"{self._name}.{name}", kind="producer", attributes={"bullmq.job.name": name}) as span:
            given = options.get("telemetry", self._compiler.default("telemetry"))
            traced = {**options, "telemetry": of_one_job(telemetry, given)}
            job = await self._add_one(name, data, traced)
            span.set_attributes({"bullmq.job.id": job.id})
            return job

    def _with_context(self, context: str, options: Mapping[str, object]) -> Mapping[str, object]:
        """Return the options of one of many jobs with the trace context of the producer."""
        given = options.get("telemetry", self._compiler.default("telemetry"))
        return {**options, "telemetry": of_many_jobs(context, given)}

    @operation
    async def add_arrow(
        self,
        source: object,
        name: str | None = None,
        *,
        name_column: str | None = None,
        data: Sequence[str] | None = None,
        job_id: str | None = None,
        id_scope: str | None = None,
        opts: JobOptions | None = None,
    ) -> AddedIds:
        """Add one job per row of Arrow data. Rows are encoded by the core, without Python objects.

        Args:
            source: a table, a batch or a stream: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``.
            name: the name of all jobs.
            name_column: instead of ``name``: the column with the names.
            data: the columns that become the job's data; all by default. `bullrush.arrow.ArrowWriter` describes the
                JSON.
            job_id: the column with the job ids. BullMQ refuses whole numbers as ids: ``17`` in a column ``order``
                becomes ``order-17``.
            id_scope: instead of ``job_id``: ids are made from this text and the content of the row, independent of the
                order of rows, so that rows added twice become one job. `bullrush.arrow.ArrowWriter` does the same over
                many calls.
            opts: the options of all jobs; see `JobOptions`. With a ``target`` all go to that route.

        Returns:
            The ids in the order of the rows. Their attribute ``duplicates`` has the positions of ids that existed
            already.

        Raises:
            InvalidOptionError: an option or a column is wrong, or a row cannot be a job; no job was added.

        Redis:
            As `add_bulk`.
        """
        if (name is None) == (name_column is None):
            raise InvalidOptionError("add_arrow() needs either name or name_column")
        if job_id is not None and id_scope is not None:
            raise InvalidOptionError("add_arrow() takes job_id or id_scope, not both")
        if self._telemetry is None:
            return await self._add_arrow(
                source, name, name_column=name_column, data=data, job_id=job_id, id_scope=id_scope, opts=opts or {}
            )
        with self.trace("addBulk", kind="producer") as span:
            traced = self._with_context(self._telemetry.metadata(), opts or {})
            ids = await self._add_arrow(
                source, name, name_column=name_column, data=data, job_id=job_id, id_scope=id_scope, opts=traced
            )
            span.set_attributes({"bullmq.job.bulk.count": len(ids)})
            return ids

    async def _add_arrow(
        self,
        source: object,
        name: str | None,
        *,
        name_column: str | None,
        data: Sequence[str] | None,
        job_id: str | None,
        id_scope: str | None,
        opts: Mapping[str, object],
    ) -> AddedIds:
        queue, opts = self._routes.of_target(self, opts)
        columns: RowColumns = {
            "name": name,
            "name_column": name_column,
            "data": None if data is None else list(data),
            "id_column": job_id,
        }
        auto_ids = None if id_scope is None else AutoIds(id_scope)
        plan = row_plan(RowOptions(queue._compiler, opts, queue.qualified_name), columns, auto_ids)
        pending = queue.core.add_arrow(source, plan, now_ms())
        return AddedIds(*await reply(pending))

    async def _add_one(self, name: str, data: JSON, options: Mapping[str, object]) -> JobT:
        new = new_jobs(now_ms())
        new.add(name, data, self._compiler.compile(options))
        await reply(self.core.add_jobs(new))
        job: JobT = self._job(new.record(0))
        return job


class CheckedJob(NamedTuple):
    """The parts of a job, with its compiled options and its id."""

    name: object
    data: JSON
    options: tuple[CompiledOptions, str | None]


class RoutedJobs(Generic[JobT]):
    """The jobs of one `Queue.add_bulk` that go to routes.

    Attributes:
        queues: the queue of each job, in order.
        by_route: the jobs of each route.
    """

    def __init__(self, timestamp: int) -> None:
        self._timestamp = timestamp
        self.queues: list[QueueAdding[JobT]] = []
        self.by_route: dict[QueueAdding[JobT], NewJobs] = {}

    def add(self, route: QueueAdding[JobT], job: CheckedJob) -> None:
        """Append a job."""
        if route not in self.by_route:
            self.by_route[route] = new_jobs(self._timestamp)
        self.by_route[route].add(job.name, job.data, job.options)
        self.queues.append(route)

    def names(self, most: int) -> list[str]:
        """Return the names of some jobs."""
        return [name for jobs in self.by_route.values() for name in jobs.names(most)]


def _checked_job(job: NewJob) -> NewJob:
    if not isinstance(job, Mapping):
        raise InvalidOptionError(f"add_bulk() takes dicts of name, data and opts, not {type(job).__name__}")
    if not job.keys() <= _NEW_JOB:
        check_known(job, _NEW_JOB, "A job of add_bulk()", opts=JOB_OPTIONS)
    return job
