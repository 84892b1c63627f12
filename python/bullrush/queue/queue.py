"""A queue: adding jobs to it and managing it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar
from uuid import uuid4

from bullrush._core import BULLMQ_VERSION, route_base
from bullrush.base.closing import BlockingContext
from bullrush.base.operation import options_by_name
from bullrush.base.options import AddingOptions, HandleOptions
from bullrush.base.outages import ReportsOutages
from bullrush.errors import InvalidOptionError
from bullrush.job.job import Job, JobT
from bullrush.job.option_compiler import OptionCompiler, check_job_options
from bullrush.job.options import JobOptions
from bullrush.queue.adding import QueueAdding
from bullrush.queue.administration import QueueAdministration
from bullrush.queue.aliases import QueueAliases
from bullrush.queue.getters import QueueGetters
from bullrush.queue.health import QueueHealthCalls
from bullrush.queue.inspection import QueueInspection
from bullrush.queue.limits import QueueLimits
from bullrush.queue.monitoring import QueueMonitoring
from bullrush.queue.routing.status import QueueRouting
from bullrush.scheduler.queue_calls import QueueSchedulers
from bullrush.scheduler.scheduler import JobScheduler, JobSchedulerCalls, SchedulerCalls, SchedulerOptions
from bullrush.telemetry.spans import QUEUE_SPANS
from bullrush.values import checks
from bullrush.values.checks import Check
from bullrush.values.encoding import JSON
from bullrush.values.options import Option, Settings, checked_options, declare_options, declared

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self, Unpack

    from bullrush.queue.named_limits import NamedLimits
    from bullrush.routing.target import Target

SchedulersT = TypeVar("SchedulersT", bound=JobSchedulerCalls[Any])


#: Every local event, and the arguments of its listeners.
EVENTS: Final = {
    "waiting": "(job)",
    "paused": "()",
    "resumed": "()",
    "cleaned": "(job_ids, type)",
    "removed": "(job or job_id)",
    "progress": "(job, progress)",
    "error": "(error)",
}


_EVENTS: Final[dict[str, Check]] = {"max_len": checks.at_least(0)}
_STREAMS: Final[dict[str, Check]] = {"events": lambda name, value: checks.members(name, value, _EVENTS)}
_MAX_LEN_EVENTS: Final = 10_000


def check_streams(name: str, value: object) -> int:
    """Return about how many entries the event stream keeps."""
    streams = checks.members(name, value or {}, _STREAMS)
    length: int = streams.get("events", {}).get("max_len", _MAX_LEN_EVENTS)
    return length


@declare_options
class QueueOptions(HandleOptions, AddingOptions, total=False):
    """Options of a queue object."""

    default_job_options: Annotated[
        JobOptions | None,
        Option(check_job_options, doc="options for every job added here; the options of a job take precedence."),
    ]
    streams: Annotated[
        dict[Literal["events"], dict[Literal["max_len"], int]] | None,
        Option(
            check_streams,
            default=_MAX_LEN_EVENTS,
            shown=f"{_MAX_LEN_EVENTS:,} events",
            doc=(
                '``{"events": {"max_len": 10000}}``: about how many entries the event stream keeps; 0 keeps almost '
                "none."
            ),
        ),
    ]
    skip_metas_update: Annotated[
        bool,
        Option(checks.boolean, default=False, doc="True does not write the queue's settings to Redis."),
    ]
    compat: Annotated[
        Literal["5", "6", "auto"] | None,
        Option(
            checks.one_of("5", "6", "auto"),
            shown="what Redis says",
            bullmq=None,
            doc=(
                "the major version of BullMQ that all calls on this queue follow where 5 and 6 differ, also those of "
                "other programs: the first call stores it with the queue, and `obliterate` removes it. By default, "
                "and after ``auto``, it is the one that BullMQ has written to the queue, and 5 where it has written "
                "none. See the page about tests against BullMQ."
            ),
        ),
    ]
    notify: Annotated[
        bool,
        Option(
            checks.boolean,
            default=False,
            bullmq=None,
            doc=(
                "True sends a message after each call that adds jobs which may run at once, so that workers with "
                "``notify=True`` wake, as many as there are jobs. It goes in the same round trip, and its failure is "
                "only logged."
            ),
        ),
    ]


def _check_compat(name: str, settings: Settings) -> None:
    if settings.skip_metas_update:
        raise InvalidOptionError("compat is stored with the queue, which skip_metas_update=True forbids: leave one out")
    if (base := route_base(name)) is not None:
        raise InvalidOptionError(
            f"{name} is a route, and follows the version of its queue: give compat to Queue({base!r})"
        )


class QueueCalls(
    ReportsOutages,
    QueueAdding[JobT],
    QueueGetters[JobT],
    QueueAdministration,
    QueueLimits,
    QueueMonitoring,
    QueueHealthCalls,
    QueueInspection,
    QueueRouting,
    QueueAliases,
    SchedulerCalls[JobT],
    QueueSchedulers,
):
    """The calls of a queue, written once for `Queue` and `aio.Queue`."""

    _events = EVENTS
    _spans = QUEUE_SPANS

    @options_by_name
    def __init__(self, name: str, **options: Unpack[QueueOptions]) -> None:
        """Make a handle of a queue. It connects at the first call.

        Args:
            name: the queue's name.
            options: see `QueueOptions`.

        Raises:
            QueueNameError: the name is empty, or has a colon or control characters.
            InvalidOptionError: an option does not exist or has an invalid value.
        """
        settings = checked_options(QueueOptions, options, type(self).__name__)
        if settings.compat is not None:
            _check_compat(name, settings)
        super().__init__(name, settings, options)
        self._settings, self._options = settings, options
        self._compiler = OptionCompiler(settings.default_job_options, settings.payload_limit)
        self._token = str(uuid4())

    def __getstate__(self) -> dict[str, object]:
        # With the resolved URL: after unpickling in another environment it is still the same queue.
        return {"name": self._name, "options": {**self._options, "url": self._url}, "route": self._place}

    def __setstate__(self, state: dict[str, JSON]) -> None:
        QueueCalls.__init__(self, state["name"], **state["options"])
        if state["route"] is not None:
            base, target = state["route"]
            self._routes.become(self, base, target)

    @property
    def token(self) -> str:
        """A text that is unique to this queue object."""
        return self._token

    @property
    def jobs_opts(self) -> JobOptions:
        """The default options of jobs added here."""
        return {**(self._options.get("default_job_options") or {})}

    @property
    def default_job_options(self) -> JobOptions:
        """The same as `jobs_opts`."""
        return self.jobs_opts

    @property
    def meta_values(self) -> dict[str, int | str]:
        """The settings that this object writes to the queue's hash ``meta`` in Redis."""
        if self._settings.skip_metas_update:
            return {}
        return {"opts.maxLenEvents": self._settings.streams, "version": BULLMQ_VERSION}

    def _schedulers(self, kind: Callable[..., SchedulersT]) -> SchedulersT:
        options = {**self._options, "url": self._url}
        given = {name: value for name, value in options.items() if name in declared(SchedulerOptions)}
        if self._place is None:
            return kind(self._name, **given)
        base, target = self._place
        return kind(base, **given).route(target)

    @property
    def _place(self) -> tuple[str, Target] | None:
        """The base and the target of a route, None for another queue."""
        routes = self._routes
        return None if routes.base is None or routes.given is None else (routes.base, routes.given)

    def route(self, target: Target) -> Self:
        """Return the queue of the jobs with this target. Only workers whose profile matches take jobs from it.

        It is a queue of its own, named ``<queue>~<slug>``: it has its own custom ids, deduplication ids, job
        schedulers, limits and events. The first job that is added registers it with this queue, so that workers find
        it; ``wait_until_ready()`` of the route registers it without a job.

        Args:
            target: what the jobs need; see `Target`. Without any criterion the result is this queue.

        Raises:
            InvalidOptionError: the target is invalid, or this queue is a route itself.
        """
        return self._routes.to(self, target)


class Queue(BlockingContext, QueueCalls[Job]):
    """A queue. Its calls block; `bullrush.aio.Queue` has the same calls to be awaited.

    It can be pickled (as its configuration) and used before and after a fork.

    Events and the arguments of their listeners (see `on`): ``waiting(job)``, ``progress(job, progress)``, ``paused()``,
    ``resumed()``, ``cleaned(job_ids, type)``, ``removed(job or job_id)``, ``error(error)``. They are about the calls of
    this object; `QueueEvents` has the events of the queue from all programs.

    Options: see `bullrush.queue.QueueOptions`; those of a job: see `bullrush.job.JobOptions`.
    """

    _job_type = Job

    @cached_property
    def limits(self) -> NamedLimits:
        """Limits with a name, which all queues of this prefix share."""
        # At the first use: most programs have no limit with a name.
        from bullrush.queue.named_limits import NamedLimits

        return NamedLimits(lambda: self.core)

    @cached_property
    def job_scheduler(self) -> JobScheduler:
        """The queue's job schedulers, as an object of their own."""
        return self._schedulers(JobScheduler)
