"""The jobs of a flow, checked, in the order in which they are added."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict

from bullrush.errors import DataError, InvalidOptionError, QueueNameError
from bullrush.job.new_jobs import new_jobs
from bullrush.job.option_compiler import JOB_OPTIONS, OptionCompiler
from bullrush.job.options import JobOptions
from bullrush.routing.target import route_of
from bullrush.telemetry.protocol import Span, Telemetry, of_many_jobs
from bullrush.values.checks import PAYLOAD_LIMIT
from bullrush.values.encoding import JSON, NO_DATA
from bullrush.values.naming import check_known, check_prefix, check_queue_name

if sys.version_info >= (3, 11):
    from typing import Required
elif TYPE_CHECKING:
    from typing_extensions import Required

if TYPE_CHECKING:
    from bullrush import _core

#: The most jobs of one call. They are stored in one step, during which Redis does nothing else.
MAX_JOBS: Final = 20_000
#: How many of the jobs above a wrong one its error names.
_MOST_NAMES: Final = 5


class Flow(TypedDict, total=False):
    """A job and its children.

    Attributes:
        name: the job's name; required.
        queue_name: the queue of the job; required. With a ``target`` in ``opts`` the job goes to that route of it.
        data: any JSON value; ``{}`` by default.
        prefix: the prefix of the queue's keys; that of the flow producer by default.
        opts: see `bullrush.job.options.JobOptions`. Only the root may have ``parent``, and only jobs without children
            ``deduplication``.
        children: flows that must complete before this job starts.
    """

    name: Required[str]
    queue_name: Required[str]
    data: JSON
    prefix: str
    opts: JobOptions
    children: list[Flow]


class QueueDefaults(TypedDict, total=False):
    """The options of one queue in ``queues_options`` of `FlowProducer.add`.

    Attributes:
        default_job_options: options for every job of that queue; those of a job take precedence.
    """

    default_job_options: JobOptions


_FLOW: Final = frozenset(Flow.__annotations__)
_DEFAULTS: Final = frozenset(QueueDefaults.__annotations__)


class PlannedJob(NamedTuple):
    """One job of a flow.

    Attributes:
        prefix: the prefix of its queue.
        queue: the name of its queue.
        name: its name.
        id: its id.
        parent: the position of its parent in the list of planned jobs, None for a root.
        route: the base of its queue and the target, if the queue is a route.
    """

    prefix: str
    queue: str
    name: str
    id: str
    parent: int | None
    route: tuple[str, _core.CoreTarget] | None = None


class FlowNode(NamedTuple):
    """How a job stands in a flow, in the form that the core takes.

    Attributes:
        queue: the beginning of the keys of its queue, with the colon.
        made_id: its id if its options give none; such an id is not stored in the options.
        is_parent: it has children.
    """

    queue: str
    made_id: str
    is_parent: bool


class Compilers(dict[str, OptionCompiler]):
    """The option compilers of the queues with default options, and one for all other queues."""

    def __init__(self, payload_limit: int | None) -> None:
        super().__init__()
        self.payload_limit = payload_limit

    def __missing__(self, name: str) -> OptionCompiler:
        return self.setdefault(name, self[""] if name else OptionCompiler(payload_limit=self.payload_limit))


def option_compilers(
    queues_options: Mapping[str, QueueDefaults] | None, payload_limit: int | None = PAYLOAD_LIMIT
) -> Compilers:
    """Return the option compilers for the given default options of queues, and the limit of data in bytes."""
    by_queue = Compilers(payload_limit)
    for name, options in (queues_options or {}).items():
        check_known(options, _DEFAULTS, "queues_options")
        by_queue[check_queue_name(name)] = OptionCompiler(options.get("default_job_options"), payload_limit)
    return by_queue


class FlowPlan:
    """The jobs of some flows level by level, in the order in which BullMQ adds them.

    Attributes:
        new: the jobs as they are sent.
        planned: the jobs as they stand in the flows.
    """

    def __init__(self, prefix: str, compilers: Compilers, timestamp: int) -> None:
        self._prefix, self._compilers = prefix, compilers
        self.new: _core.NewJobs = new_jobs(timestamp)
        self.planned: list[PlannedJob] = []

    def add(self, flow: Flow, parent_index: int | None) -> PlannedJob:
        """Append a job.

        Raises:
            DataError: its data is not JSON.
            InvalidOptionError: it cannot be added as it is.
            QueueNameError: it has no valid ``queue_name``.
        """
        name, queue = flow.get("name"), check_queue_name(flow.get("queue_name"))
        options: Mapping[str, Any] = flow.get("opts") or {}
        compiler, route = self._compilers[queue], None
        if isinstance(options, Mapping) and "target" in options:
            target, options = options["target"], {key: value for key, value in options.items() if key != "target"}
            route = None if target is None else route_of(queue, target)
        if route is not None:
            queue = route[1].queue_of(queue)
        prefix = check_prefix(flow.get("prefix", self._prefix))
        if parent_index is not None:
            if options.get("parent") is not None:
                raise InvalidOptionError(
                    f"The parent of job {name!r} is the job above it in the flow: leave opts.parent out"
                )
            parent = self.planned[parent_index]
            options = {**options, "parent": {"id": parent.id, "queue": f"{parent.prefix}:{parent.queue}"}}
        compiled, own_id = compiler.compile(options)
        is_parent = bool(flow.get("children"))
        if is_parent and compiled.relations and compiled.relations.deduplication:
            raise InvalidOptionError("Deduplication options cannot be used on flow nodes with children")
        node = FlowNode(f"{prefix}:{queue}:", str(uuid.uuid4()), is_parent)
        self.new.add(name, flow.get("data", NO_DATA), (compiled, own_id), node)
        planned = PlannedJob(prefix, queue, str(name), own_id or node.made_id, parent_index, route)
        self.planned.append(planned)
        return planned


class NodeSpans:
    """Opens a span for each job of a flow, inside the span of its parent, and stores the trace context in the job."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._contexts: list[str] = []

    @contextmanager
    def node(self, flow: Flow, parent: int | None, defaults: object) -> Iterator[tuple[Span, Flow]]:
        """Open the span of the next job. Yields the span, and the flow with the trace context in its options."""
        name, queue = flow.get("name", ""), flow.get("queue_name", "")
        attributes = {"bullmq.queue.name": queue, "bullmq.queue.operation": "addNode", "bullmq.job.name": name}
        above = None if parent is None else self._contexts[parent]
        with self._telemetry.span(f"addNode {queue}", "producer", attributes, parent=above) as span:
            self._contexts.append(self._telemetry.metadata())
            opts: Mapping[str, Any] = flow.get("opts") or {}
            own = of_many_jobs(self._contexts[-1], opts.get("telemetry", defaults))
            yield span, {**flow, "opts": {**opts, "telemetry": own}}  # type: ignore[typeddict-item]


def plan_flows(
    flows: Iterable[Flow], prefix: str, compilers: Compilers, timestamp: int, spans: NodeSpans | None = None
) -> FlowPlan:
    """Return all jobs of some flows.

    Raises:
        DataError: a job's data is not JSON.
        InvalidOptionError: a flow cannot be added as it is.
    """
    whole = FlowPlan(prefix, compilers, timestamp)
    planned = whole.planned
    level: list[tuple[Flow, int | None, int]] = [(flow, None, number) for number, flow in enumerate(flows, 1)]
    roots = len(level)
    while level:
        below: list[tuple[Flow, int | None, int]] = []
        for flow, parent, number in level:
            with _located(parent, number, planned, roots):
                check_flow(flow)
                below += [(child, len(planned), place) for place, child in enumerate(_children(flow), 1)]
                if spans is None:
                    whole.add(flow, parent)
                else:
                    defaults = compilers[flow.get("queue_name", "")].default("telemetry")
                    with spans.node(flow, parent, defaults) as (span, traced):
                        span.set_attributes({"bullmq.job.id": whole.add(traced, parent).id})
            if len(planned) + len(below) > MAX_JOBS:
                raise InvalidOptionError(
                    f"A flow may have {MAX_JOBS:,} jobs: add its root with some of its children, and the others by "
                    "Queue.add_bulk() with parent="
                )
        level = below
    return whole


@contextmanager
def _located(parent: int | None, number: int, planned: list[PlannedJob], roots: int) -> Iterator[None]:
    """Say in an error of a job where in the flows it is; the root of the only flow needs no place."""
    try:
        yield
    except (InvalidOptionError, QueueNameError, DataError) as error:
        place = _place(parent, number, planned, roots)
        if not place:
            raise
        raise type(error)(f"{place}: {error}") from None


def _place(parent: int | None, number: int, planned: list[PlannedJob], roots: int) -> str:
    """Return the place of a job that is not planned yet, such as ``child 2 of 'film' > 'render'``."""
    names: list[str] = []
    root = number
    while parent is not None:
        if len(names) < _MOST_NAMES:
            names.insert(0, repr(planned[parent].name))
        root, parent = parent + 1, planned[parent].parent
    flow = [f"flow {root}"] if roots > 1 else []
    child = [f"child {number} of {' > '.join(names)}"] if names else []
    return ", ".join(flow + child)


def check_flow(flow: object) -> None:
    """Refuse what is not a flow; its members are checked later.

    Raises:
        InvalidOptionError: it is not a dict, or has a member that flows do not have.
    """
    if not isinstance(flow, Mapping):
        is_task = callable(getattr(flow, "flow", None)) or callable(getattr(flow, "bind", None))
        advice = ": use task.bind(...).flow(children=[...])" if is_task else ""
        raise InvalidOptionError(f"A flow is a dict of name, queue_name, data..., not {type(flow).__name__}{advice}")
    if not flow.keys() <= _FLOW:
        check_known(flow, _FLOW, "A flow", opts=JOB_OPTIONS)


def _children(flow: Flow) -> list[Flow]:
    children = flow.get("children") or []
    if not isinstance(children, list | tuple):
        raise InvalidOptionError(f"children must be a list of flows, not {type(children).__name__}")
    return list(children)
