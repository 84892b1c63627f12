"""What a flow consists of, checked and in the order in which it is added."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict

from bullrush.errors import InvalidOptionError
from bullrush.job.new_job import prepare
from bullrush.job.option_compiler import Link, OptionCompiler
from bullrush.job.options import JobOptions
from bullrush.telemetry.protocol import Span, Telemetry, of_many_jobs
from bullrush.values.encoding import JSON, NO_DATA
from bullrush.values.naming import check_known, check_prefix, check_queue_name

if TYPE_CHECKING:
    from typing_extensions import Required

    from bullrush import _core

#: Jobs of one call: they are stored in one step, and Redis does nothing else meanwhile.
MAX_JOBS: Final = 20_000


class Flow(TypedDict, total=False):
    """A job and the jobs it waits for.

    Attributes:
        name: what the job is.
        queue_name: where it runs.
        data: any JSON value.
        prefix: how the queue's keys begin, if not like the producer's.
        opts: see `bullrush.job.options.JobOptions`; ``parent`` only for the root, ``deduplication`` only without children.
        children: flows, each of which ends before this job starts.
    """

    name: Required[str]
    queue_name: Required[str]
    data: JSON
    prefix: str
    opts: JobOptions
    children: list[Flow]


class QueueDefaults(TypedDict, total=False):
    """What `FlowProducer.add` is told about a queue."""

    default_job_options: JobOptions


_FLOW: Final = frozenset(Flow.__annotations__)
_DEFAULTS: Final = frozenset(QueueDefaults.__annotations__)


class PlannedJob(NamedTuple):
    """One job of a flow: the prefix and name of its queue, the job as the core takes it, and the place of its parent."""

    address: tuple[str, str]
    job: _core.NewJob
    link: Link
    parent: int | None


class Compilers(dict[str, OptionCompiler]):
    """The compilers of the queues that have defaults, and one for all others."""

    def __missing__(self, name: str) -> OptionCompiler:
        return self.setdefault(name, self[""] if name else OptionCompiler())


def compilers(queues_options: Mapping[str, QueueDefaults] | None) -> Compilers:
    """Return the compilers for the defaults of queues, by their names."""
    by_queue = Compilers()
    for name, options in (queues_options or {}).items():
        check_known(options, _DEFAULTS, "queues_options")
        by_queue[check_queue_name(name)] = OptionCompiler(options.get("default_job_options"))
    return by_queue


class NodeSpans:
    """Opens a span for each job of a flow, inside the one of its parent, and gives the job its context."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._contexts: list[str] = []

    @contextmanager
    def node(self, flow: Flow, parent: int | None, defaults: object) -> Iterator[tuple[Span, Flow]]:
        """Give the span of the next job, and the flow with its context in the options."""
        name, queue = flow.get("name", ""), flow.get("queue_name", "")
        said = {"bullmq.queue.name": queue, "bullmq.queue.operation": "addNode", "bullmq.job.name": name}
        above = None if parent is None else self._contexts[parent]
        with self._telemetry.span(f"addNode {queue}", "producer", said, parent=above) as span:
            self._contexts.append(self._telemetry.metadata())
            opts: Mapping[str, Any] = flow.get("opts") or {}
            own = of_many_jobs(self._contexts[-1], opts.get("telemetry", defaults))
            yield span, {**flow, "opts": {**opts, "telemetry": own}}  # type: ignore[typeddict-item]


def plan(
    flows: Iterable[Flow], prefix: str, compilers: Compilers, timestamp: int, spans: NodeSpans | None = None
) -> list[PlannedJob]:
    """Return all jobs of some flows, generation by generation, as BullMQ adds them.

    Raises:
        DataError: a job's data is not JSON.
        InvalidOptionError: a flow cannot be added as it is.
    """
    planned: list[PlannedJob] = []
    level: list[tuple[Flow, int | None]] = [(flow, None) for flow in flows]
    while level:
        below: list[tuple[Flow, int | None]] = []
        for flow, place in level:
            _check_flow(flow)
            below += [(child, len(planned)) for child in _children(flow)]
            if spans is None:
                planned.append(_planned(flow, place, planned, prefix, compilers, timestamp))
            else:
                defaults = compilers[flow.get("queue_name", "")].default("telemetry")
                with spans.node(flow, place, defaults) as (span, carrying):
                    planned.append(_planned(carrying, place, planned, prefix, compilers, timestamp))
                    span.set_attributes({"bullmq.job.id": planned[-1].job[3] or ""})
            if len(planned) + len(below) > MAX_JOBS:
                raise InvalidOptionError(
                    f"A flow may have {MAX_JOBS:,} jobs: add its root with some of its children, and the others by "
                    "Queue.add_bulk() with parent="
                )
        level = below
    return planned


def _check_flow(flow: object) -> None:
    if not isinstance(flow, Mapping):
        raise InvalidOptionError(f"A flow is a dict of name, queue_name, data..., not {type(flow).__name__}")
    if not flow.keys() <= _FLOW:
        check_known(flow, _FLOW, "A flow")


def _planned(
    flow: Flow, place: int | None, planned: list[PlannedJob], prefix: str, compilers: Compilers, timestamp: int
) -> PlannedJob:
    name, queue = flow.get("name"), check_queue_name(flow.get("queue_name"))
    address = check_prefix(flow.get("prefix", prefix)), queue
    options: Mapping[str, Any] = flow.get("opts") or {}
    if place is not None:
        if options.get("parent") is not None:
            raise InvalidOptionError(f"The parent of job {name!r} is the job above it: leave opts.parent out")
        parent = planned[place]
        options = {**options, "parent": {"id": parent.job[3], "queue": ":".join(parent.address)}}
    job, link = prepare(compilers[queue], name, flow.get("data", NO_DATA), options, timestamp)
    link, made, is_parent = link or Link(), job[3] is None, bool(flow.get("children"))
    if is_parent and link.deduplication:
        raise InvalidOptionError("Deduplication options cannot be used on flow nodes with children")
    if made:
        job = (*job[:3], str(uuid.uuid4()), *job[4:])
    return PlannedJob(
        address, job, link._replace(queue=f"{address[0]}:{queue}:", made=made, is_parent=is_parent), place
    )


def _children(flow: Flow) -> list[Flow]:
    children = flow.get("children") or []
    if not isinstance(children, list | tuple):
        raise InvalidOptionError(f"children must be a list of flows, not {type(children).__name__}")
    return list(children)
