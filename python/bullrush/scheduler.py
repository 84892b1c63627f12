"""Job schedulers: they make a job every so often, or when a cron pattern says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypedDict

import orjson

from bullrush import checks
from bullrush.encoding import JSON, encode
from bullrush.handle import ClosedByWith, Handle
from bullrush.inspection import JobT
from bullrush.job import Job, JobCalls
from bullrush.naming import check_job_name, check_known
from bullrush.operation import Blocking, operation, reply
from bullrush.options import JobOptions, OptionCompiler, read_options
from bullrush.outages import TellsOutages
from bullrush.prepared import AddedRecord
from bullrush.schedule_options import (
    JobTemplate,
    RepeatOptions,
    check_repeat,
    check_scheduler_id,
    check_template,
    is_of_oldest_form,
    oldest_stem,
    repeatable_keys,
)
from bullrush.telemetry import of_many_jobs

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from bullrush.telemetry import Telemetry

#: Schedulers read per round trip.
_CHUNK: Final = 250
_NUMBERS: Final = {
    "ic": "iteration_count",
    "limit": "limit",
    "startDate": "start_date",
    "endDate": "end_date",
    "every": "every",
    "offset": "offset",
}
_TEXTS: Final = ("name", "tz", "pattern")


class SchedulerTemplate(TypedDict, total=False):
    """What the jobs of a scheduler have, apart from their name. What is not set is left out."""

    data: JSON
    opts: dict[str, JSON]


class SchedulerJson(TypedDict, total=False):
    """A job scheduler as Redis has it. What is not set is left out.

    Attributes:
        key: its id.
        name: the name of its jobs.
        next: the time of its latest job, which runs next or runs already; ms since 1970.
        iteration_count: how many jobs it has made.
        template: what its jobs have.
    """

    key: str
    name: str
    next: int
    iteration_count: int
    limit: int
    start_date: int
    end_date: int
    tz: str
    pattern: str
    every: int
    offset: int
    template: SchedulerTemplate


class RepeatableJob(TypedDict):
    """A scheduler or an old repeatable as older clients list it; ``every`` is a text."""

    key: str
    name: str | None
    end_date: int | None
    tz: str | None
    pattern: str | None
    every: str | None
    next: int


class ScheduledRecord(AddedRecord):
    """The raw fields of a scheduler's job as they were sent to Redis."""

    __slots__ = ("scheduler_id",)

    scheduler_id: str

    def get(self, field: str) -> bytes | None:
        """Return any other field, None if the job does not have it."""
        return self.scheduler_id.encode() if field == "rjk" else super().get(field)


class SchedulerCalls(Handle, Generic[JobT]):
    """What `Queue` and `JobScheduler` both do with job schedulers."""

    _job_type: ClassVar[Callable[..., JobCalls]]
    _compiler: OptionCompiler

    @operation
    async def upsert_job_scheduler(
        self, scheduler_id: str, repeat: RepeatOptions, template: JobTemplate | None = None
    ) -> JobT | None:
        """Create a job scheduler, or update the one of this id, and make its next job.

        A job of it that still waits is made anew from the template and keeps its time, also when the times have changed: new
        times count from the job after it. To start afresh, remove the scheduler first.

        Args:
            scheduler_id: its id; three colons at most.
            repeat: when to make jobs.
            template: which jobs to make.

        Returns:
            The next job, None when there is none to make: the limit is reached, or the pattern does not fire by ``end_date``.

        Raises:
            InvalidOptionError: an option does not exist or has a bad value; nothing was changed.
            SchedulerCollisionError: other jobs have the ids that the next job could have; nothing was changed.

        Redis:
            One script; ``add/add_job_scheduler``.
        """
        check_scheduler_id(scheduler_id)
        rule = check_repeat(repeat)
        wanted = check_template(template)
        name = check_job_name(wanted.get("name", scheduler_id))
        data = wanted.get("data")
        encoded = b"{}" if data is None else encode(data, "template.data")
        opts = self._compiler.template(wanted.get("opts") or {})
        repeat_json = orjson.dumps(rule.stored)
        given = (scheduler_id, repeat_json, rule.immediately, name, encoded, opts)
        if self._telemetry is None:
            scheduled = await reply(self.core.upsert_job_scheduler(*given))
        else:
            said = {"bullmq.job.scheduler.id": scheduler_id}
            with self.trace("add", f"{self.name}.{name}", kind="producer", attributes=said) as span:
                carried = of_many_jobs(self._telemetry.metadata(), read_options(orjson.loads(opts)).get("telemetry"))
                metadata = orjson.dumps(carried["metadata"])
                scheduled = await reply(self.core.upsert_job_scheduler(*given, metadata))
                if scheduled is not None:
                    span.set_attributes({"bullmq.job.id": scheduled[0]})
        if scheduled is None:
            return None
        job_id, timestamp, delay, priority, job_opts = scheduled
        record = ScheduledRecord(job_id, (name, encoded, job_opts, job_id, timestamp, delay, priority, False))
        record.scheduler_id = scheduler_id
        return self._job_type(record, self)  # type: ignore[return-value]

    @operation
    async def get_job_schedulers(self, start: int = 0, end: int = -1, asc: bool = False) -> list[SchedulerJson]:
        """Return job schedulers by the time of their next job.

        Args:
            start: the first position.
            end: the last position; -1 is the end.
            asc: the soonest first; by default the last one is.
        """
        return [_scheduler(*found) for found in await self._ranked(start, end, asc=asc)]

    @operation
    async def remove_job_scheduler(self, scheduler_id: str) -> bool:
        """Remove a job scheduler, and its next job unless that waits to run at once.

        Returns:
            False if there is no such scheduler.
        """
        return await reply(self.core.remove_job_scheduler(scheduler_id))

    async def _found(self, scheduler_id: str) -> SchedulerJson | None:
        score, fields = await reply(
            self.core.commands(
                [["ZSCORE", self.to_key("repeat"), scheduler_id], ["HGETALL", self.to_key(f"repeat:{scheduler_id}")]]
            )
        )
        return None if score is None else _scheduler(scheduler_id, score, fields)

    async def _how_many(self) -> int:
        [count] = await reply(self.core.commands([["ZCARD", self.to_key("repeat")]]))
        return int(count)

    async def _ranked(self, start: int, end: int, *, asc: bool) -> list[tuple[str, bytes, list[bytes]]]:
        """Return id, score and flat hash of schedulers."""
        command = "ZRANGE" if asc else "ZREVRANGE"
        [flat] = await reply(self.core.commands([[command, self.to_key("repeat"), start, end, "WITHSCORES"]]))
        ids = [raw.decode() for raw in flat[::2]]
        hashes: list[list[bytes]] = []
        for first in range(0, len(ids), _CHUNK):
            reads = [["HGETALL", self.to_key(f"repeat:{key}")] for key in ids[first : first + _CHUNK]]
            hashes += await reply(self.core.commands(reads))
        return list(zip(ids, flat[1::2], hashes, strict=True))


class QueueSchedulers(SchedulerCalls[JobT]):
    """The further calls of a queue about job schedulers and old repeatables."""

    @operation
    async def get_job_scheduler(self, scheduler_id: str) -> SchedulerJson | None:
        """Return a job scheduler, None if there is none of this id."""
        return await self._found(scheduler_id)

    @operation
    async def get_job_schedulers_count(self) -> int:
        """Return how many job schedulers there are."""
        return await self._how_many()

    @operation
    async def get_repeatable_jobs(self, start: int = 0, end: int = -1, asc: bool = False) -> list[RepeatableJob]:
        """Return old repeatables, and job schedulers as if they were some. Prefer `get_job_schedulers`."""
        return [_repeatable(*found) for found in await self._ranked(start, end, asc=asc)]

    @operation
    async def remove_repeatable(self, name: str, repeat_opts: RepeatOptions, job_id: str | None = None) -> bool:
        """Remove an old repeatable, which is named by the options it was added with.

        Args:
            name: the name of its jobs.
            repeat_opts: its repeat options.
            job_id: the job id it was added with, if any.

        Returns:
            False if there is no such repeatable.
        """
        for key in repeatable_keys(name, repeat_opts, job_id):
            if await reply(self.core.remove_job_scheduler(key, oldest_stem(key))):
                return True
        return False

    @operation
    async def remove_repeatable_by_key(self, key: str) -> bool:
        """Remove an old repeatable by the key that `get_repeatable_jobs` tells.

        Returns:
            False if there is no such repeatable.
        """
        return await reply(self.core.remove_job_scheduler(key, oldest_stem(key)))


class SchedulerOptions(TypedDict, total=False):
    """Options of a `JobScheduler` object; see `QueueOptions`."""

    url: str | None
    prefix: str
    default_job_options: JobOptions | None
    telemetry: Telemetry | None
    timeout: checks.Duration | None


SCHEDULER_OPTIONS: Final = frozenset(SchedulerOptions.__annotations__)
_DEFAULT_TIMEOUT: Final = 10_000


class JobSchedulerCalls(TellsOutages, SchedulerCalls[JobT]):
    """The calls of a `JobScheduler`, whichever way they are waited for."""

    _events: ClassVar[Mapping[str, str]] = {"error": "(error)"}

    def __init__(self, name: str, **options: Unpack[SchedulerOptions]) -> None:
        """Name a queue. Nothing is sent before the first call.

        Raises:
            QueueNameError: the name is empty or has a colon or control characters.
            InvalidOptionError: an option does not exist or has a bad value.
        """
        check_known(options, SCHEDULER_OPTIONS, type(self).__name__)
        timeout = options.get("timeout", _DEFAULT_TIMEOUT)
        super().__init__(
            name,
            options.get("url"),
            options.get("prefix", "bull"),
            options=options,
            timeout_ms=None if timeout is None else checks.milliseconds("timeout", timeout),
        )
        self._compiler = OptionCompiler(options.get("default_job_options"))

    @operation
    async def get_scheduler(self, scheduler_id: str) -> SchedulerJson | None:
        """Return a job scheduler, None if there is none of this id."""
        return await self._found(scheduler_id)

    @operation
    async def get_schedulers_count(self) -> int:
        """Return how many job schedulers there are."""
        return await self._how_many()


class JobScheduler(ClosedByWith, Blocking, JobSchedulerCalls[Job]):
    """The job schedulers of a queue, without the queue's other calls. `bullrush.aio.JobScheduler` is the same to be awaited."""

    _job_type = Job


def _fields(flat: Iterable[bytes]) -> dict[str, str]:
    texts = (raw.decode(errors="replace") for raw in flat)
    return dict(zip(texts, texts, strict=True))


def _scheduler(key: str, score: bytes, flat: list[bytes]) -> SchedulerJson:
    fields = _fields(flat)
    found: dict[str, Any] = {"key": key, "next": int(float(score))}
    found |= {name: fields[name] for name in _TEXTS if name in fields}
    found |= {name: _number(fields[wire]) for wire, name in _NUMBERS.items() if wire in fields}
    template: dict[str, JSON] = {}
    if "data" in fields:
        template["data"] = orjson.loads(fields["data"])
    if "opts" in fields:
        template["opts"] = read_options(orjson.loads(fields["opts"]))
    if template:
        found["template"] = template
    return found  # type: ignore[return-value]


def _repeatable(key: str, score: bytes, flat: list[bytes]) -> RepeatableJob:
    fields = _fields(flat)
    if not fields and is_of_oldest_form(key):
        name, _, end, tz, pattern = key.split(":", 4)
        fields = {"name": name, "endDate": end, "tz": tz, "pattern": pattern}
    return {
        "key": key,
        "name": fields.get("name"),
        "end_date": _number(fields["endDate"]) if fields.get("endDate") else None,
        "tz": fields.get("tz") or None,
        "pattern": fields.get("pattern"),
        "every": fields.get("every"),
        "next": int(float(score)),
    }


def _number(text: str) -> int | None:
    try:
        return int(float(text))
    except ValueError:
        return None
