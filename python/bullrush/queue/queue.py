"""A queue: adding jobs to it and managing it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, Literal, TypedDict
from uuid import uuid4

from bullrush._core import BULLMQ_VERSION, AutoIds, NewJobs, now_ms
from bullrush.base.closing import BlockingContext
from bullrush.base.operation import operation, reply
from bullrush.base.outages import ReportsOutages
from bullrush.errors import InvalidOptionError
from bullrush.job.job import Job, JobT
from bullrush.job.new_job import PreparedJob, prepare
from bullrush.job.option_compiler import OptionCompiler
from bullrush.job.options import JobOptions, NewJob
from bullrush.job.record import AddedRecord
from bullrush.queue.administration import QueueAdministration
from bullrush.queue.deduplication import QueueDeduplication
from bullrush.scheduler.queue_calls import QueueSchedulers
from bullrush.scheduler.scheduler import SCHEDULER_OPTIONS, JobScheduler, SchedulerOptions
from bullrush.telemetry.protocol import Telemetry, of_many_jobs, of_one_job
from bullrush.telemetry.spans import QUEUE_SPANS
from bullrush.values import checks
from bullrush.values.checks import Check, Duration
from bullrush.values.encoding import JSON, NO_DATA
from bullrush.values.naming import check_known

if TYPE_CHECKING:
    from typing_extensions import Unpack

_DEFAULT_MAX_LEN_EVENTS: Final = 10_000
_DEFAULT_TIMEOUT: Final = 10_000


#: What this object did, for listeners in this process; what happens to the queue everywhere is in `QueueEvents`.
EVENTS: Final = {
    "waiting": "(job)",
    "paused": "()",
    "resumed": "()",
    "cleaned": "(job_ids, type)",
    "removed": "(job or job_id)",
    "progress": "(job, progress)",
    "error": "(error)",
}


class QueueOptions(TypedDict, total=False):
    """Options of a queue object.

    Attributes:
        url: where Redis is: ``redis://``, ``rediss://``, ``unix://`` or ``embedded://[dir]``. By default ``BULLRUSH_URL``, then
            ``REDIS_URL``, then ``redis://127.0.0.1:6379/0``.
        prefix: how all keys begin; ``bull`` as in BullMQ. On Redis Cluster it needs a hash tag: ``{bull}``.
        default_job_options: options of every job added here that does not say otherwise.
        streams: ``{"events": {"max_len": 10000}}``: about how many entries the event stream keeps; 0 keeps next to none.
        skip_metas_update: True leaves the queue's settings in Redis alone.
        telemetry: who traces what is done with the queue: `bullrush.otel.OpenTelemetry`, or None.
        timeout: ms that a call may take, 10,000 by default: for a connection and, in calls of several round trips such as `clean`, for
            each of them. None waits for ever.
    """

    url: str | None
    prefix: str
    default_job_options: JobOptions | None
    streams: dict[Literal["events"], dict[Literal["max_len"], int]] | None
    skip_metas_update: bool
    telemetry: Telemetry | None
    timeout: Duration | None


_KNOWN: Final = frozenset(QueueOptions.__annotations__)
#: A span says the names of so many jobs of a bulk.
_MOST_NAMES: Final = 100
_NEW_JOB: Final = frozenset({"name", "data", "opts"})
_EVENTS: Final[dict[str, Check]] = {"max_len": checks.at_least(0)}
_STREAMS: Final[dict[str, Check]] = {"events": lambda name, value: checks.members(name, value, _EVENTS)}


class AddedIds(list[str]):
    """The ids of added jobs, in order.

    Attributes:
        duplicates: the positions whose id existed already, so that nothing was added.
    """

    def __init__(self, ids: Iterable[str], duplicates: Sequence[int]) -> None:
        super().__init__(ids)
        self.duplicates = duplicates


class QueueCalls(ReportsOutages, QueueAdministration[JobT], QueueDeduplication, QueueSchedulers[JobT]):
    """The calls of a queue, whichever way they are waited for."""

    _events = EVENTS
    _spans = QUEUE_SPANS

    def __init__(self, name: str, **options: Unpack[QueueOptions]) -> None:
        """Name a queue. Nothing is sent before the first call.

        Raises:
            QueueNameError: the name is empty or has a colon or control characters.
            InvalidOptionError: an option does not exist or has a bad value.
        """
        check_known(options, _KNOWN, type(self).__name__)
        timeout = options.get("timeout", _DEFAULT_TIMEOUT)
        streams = checks.members("streams", options.get("streams") or {}, _STREAMS)
        super().__init__(
            name,
            options.get("url"),
            options.get("prefix", "bull"),
            options=options,
            max_len_events=streams.get("events", {}).get("max_len", _DEFAULT_MAX_LEN_EVENTS),
            skip_metas_update=checks.boolean("skip_metas_update", options.get("skip_metas_update", False)),
            timeout_ms=None if timeout is None else checks.milliseconds("timeout", timeout),
        )
        # The URL as resolved: unpickled elsewhere, the queue is still the same one.
        self._options: QueueOptions = {**options, "url": self._url}
        self._compiler = OptionCompiler(options.get("default_job_options"))
        self._token = str(uuid4())

    def __getstate__(self) -> dict[str, object]:
        return {"name": self._name, "options": self._options}

    def __setstate__(self, state: dict[str, JSON]) -> None:
        QueueCalls.__init__(self, state["name"], **state["options"])

    @property
    def token(self) -> str:
        """A text that no other queue object has."""
        return self._token

    @property
    def jobs_opts(self) -> JobOptions:
        """The options of every job added here that does not say otherwise."""
        return {**(self._options.get("default_job_options") or {})}

    @property
    def default_job_options(self) -> JobOptions:
        """The same as `jobs_opts`."""
        return self.jobs_opts

    @property
    def meta_values(self) -> dict[str, int | str]:
        """The settings that this object writes to Redis."""
        if self._options.get("skip_metas_update"):
            return {}
        streams = self._options.get("streams") or {}
        return {
            "opts.maxLenEvents": streams.get("events", {}).get("max_len", _DEFAULT_MAX_LEN_EVENTS),
            "version": BULLMQ_VERSION,
        }

    @operation
    async def add(self, name: str, data: JSON = NO_DATA, **options: Unpack[JobOptions]) -> JobT:
        """Add a job.

        Args:
            name: what the job is; a worker decides by it what to do.
            data: any JSON value.
            options: see `JobOptions`.

        Raises:
            DataError: a part of the data is not JSON; the message names its path.
            InvalidOptionError: an option does not exist or has a bad value.
            ParentNotFoundError: the job's parent does not exist.
            ParentReplacedError: the job exists and has another parent.
            ConnectionLostError: Redis could not be reached; the job was not added.
            OutcomeUnknownError: the connection broke; the job may have been added.

        Redis:
            One script: ``add/add_jobs``, or ``add/add_linked_jobs`` for a job with a parent or a deduplication id. Jobs that other
            threads or coroutines add while a call of ``add/add_jobs`` is on its way share the next one.
        """
        if self._telemetry is None:
            job = await self._added(name, data, options)
        else:
            job = await self._add_traced(self._telemetry, name, data, options)
        self.emit("waiting", job)
        return job

    @operation
    async def add_bulk(self, jobs: Iterable[NewJob]) -> list[JobT]:
        """Add many jobs at once: each as by `add`, but thousands in a round trip.

        Args:
            jobs: dicts of ``name``, ``data`` and ``opts``.

        Returns:
            The jobs in the order given.

        Raises:
            DataError, InvalidOptionError: a job cannot be added, so none was.
            ParentNotFoundError, ParentReplacedError: a parent does not allow it, so none of its part was added.
            ConnectionLostError, OutcomeUnknownError: earlier jobs may have been added.

        Redis:
            ``add/add_jobs`` for up to 250 jobs at a time, each stored atomically, all of them together not. If a job has a
            parent or a deduplication id: ``add/add_linked_jobs``, each part of 250 atomically.
        """
        if self._telemetry is None:
            return await self._added_bulk(self._new_jobs(jobs))
        with self.trace("addBulk", kind="producer") as span:
            carrying = partial(self._carrying, self._telemetry.metadata())
            new = self._new_jobs([{**_checked(job), "opts": carrying(job.get("opts") or {})} for job in jobs])
            span.set_attributes({"bullmq.job.bulk.names": new.names(_MOST_NAMES), "bullmq.job.bulk.count": len(new)})
            return await self._added_bulk(new)

    def _new_jobs(self, jobs: Iterable[Mapping[str, object]]) -> NewJobs:
        return NewJobs(jobs, now_ms(), self._compiler.compile, self._prepared)

    def _prepared(self, job: NewJob, timestamp: int) -> PreparedJob:
        """Return a job of many as the core takes it, or raise: everything is checked before anything is sent."""
        job = _checked(job)
        return prepare(self._compiler, job.get("name"), job.get("data", NO_DATA), job.get("opts") or {}, timestamp)

    async def _added_bulk(self, new: NewJobs) -> list[JobT]:
        if not new:
            return []
        pending = self.core.add_jobs(new)
        # The server works meanwhile.
        jobs = [self._job(record) for record in new.records()]
        await reply(pending)
        return jobs

    async def _add_traced(self, telemetry: Telemetry, name: str, data: JSON, options: Mapping[str, object]) -> JobT:
        with self.trace("add", f"{self._name}.{name}", kind="producer", attributes={"bullmq.job.name": name}) as span:
            given = options.get("telemetry", self._compiler.default("telemetry"))
            carrying = {**options, "telemetry": of_one_job(telemetry, given)}
            job = await self._added(name, data, carrying)
            span.set_attributes({"bullmq.job.id": job.id})
            return job

    def _carrying(self, context: str, options: Mapping[str, object]) -> Mapping[str, object]:
        """Return the options of one of many jobs with the context of their producer."""
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
        """Add one job per row of Arrow data, encoded outside of Python.

        Args:
            source: a table, a batch or a stream: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``.
            name: the name of all jobs.
            name_column: instead of ``name``: the column that has each job's name.
            data: the columns that become the job's data; all by default. `bullrush.arrow` says how they look as JSON.
            job_id: the column that has each job's id. BullMQ refuses whole numbers as ids: ``17`` in a column ``order`` becomes
                ``order-17``.
            id_scope: instead of ``job_id``: ids made of this text and each row's content, whatever the order of rows, so that rows
                added twice are there once. `bullrush.arrow.ArrowWriter` does the same over many calls.
            opts: options of all jobs.

        Returns:
            The ids in row order; their ``duplicates`` tells which existed already.
        """
        if (name is None) == (name_column is None):
            raise InvalidOptionError("add_arrow() needs either name or name_column")
        if job_id is not None and id_scope is not None:
            raise InvalidOptionError("add_arrow() takes job_id or id_scope, not both")
        if self._telemetry is None:
            return await self._add_arrow(source, name, name_column, data, job_id, id_scope, opts or {})
        with self.trace("addBulk", kind="producer") as span:
            carrying = self._carrying(self._telemetry.metadata(), opts or {})
            ids = await self._add_arrow(source, name, name_column, data, job_id, id_scope, carrying)
            span.set_attributes({"bullmq.job.bulk.count": len(ids)})
            return ids

    async def _add_arrow(
        self,
        source: object,
        name: str | None,
        name_column: str | None,
        data: Sequence[str] | None,
        job_id: str | None,
        id_scope: str | None,
        opts: Mapping[str, object],
    ) -> AddedIds:
        compiled, own_id = self._compiler.compile(opts)
        if own_id is not None:
            raise InvalidOptionError("add_arrow() takes the column of job ids as job_id=, not in opts")
        auto_ids = None if id_scope is None else AutoIds(id_scope)
        pending = self.core.add_arrow(
            source,
            name,
            name_column,
            data,
            job_id,
            auto_ids,
            compiled.stored,
            compiled.timestamp or now_ms(),
            compiled.delay,
            compiled.priority,
            compiled.lifo,
            compiled.link,
        )
        return AddedIds(*await reply(pending))

    def _scheduler_options(self) -> SchedulerOptions:
        return {name: value for name, value in self._options.items() if name in SCHEDULER_OPTIONS}  # type: ignore[return-value]

    async def _added(self, name: str, data: JSON, options: Mapping[str, object]) -> JobT:
        job, link = prepare(self._compiler, name, data, options, now_ms())
        if link is None:
            job_id = await reply(self.core.add_job(job))
        else:
            ids, _, _ = await reply(self.core.add_linked_jobs([(job, link)], whole=False))
            job_id = ids[0]
        return self._job(AddedRecord(job_id, job, link))


def _checked(job: NewJob) -> NewJob:
    if not isinstance(job, Mapping):
        raise InvalidOptionError(f"add_bulk() takes dicts of name, data and opts, not {type(job).__name__}")
    if not job.keys() <= _NEW_JOB:
        check_known(job, _NEW_JOB, "A job of add_bulk()")
    return job


class Queue(BlockingContext, QueueCalls[Job]):
    """A queue. Its calls block; `bullrush.aio.Queue` has the same ones to be awaited.

    It pickles as its configuration and may be used on both sides of a fork.
    """

    _job_type = Job

    @cached_property
    def job_scheduler(self) -> JobScheduler:
        """The queue's job schedulers, without the queue's other calls."""
        return JobScheduler(self._name, **self._scheduler_options())
