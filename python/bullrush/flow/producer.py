"""Adding flows and reading them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Generic

from bullrush._core import CoreQueue, now_ms
from bullrush.base.closing import BlockingContext
from bullrush.base.handle import of_queue
from bullrush.base.operation import operation, options_by_name, reply
from bullrush.base.options import AddingOptions, HandleOptions
from bullrush.base.outages import ReportsOutages
from bullrush.flow.flow_queue import FlowQueue
from bullrush.flow.plan import Flow, NodeSpans, QueueDefaults, check_flow, option_compilers, plan_flows
from bullrush.job.job import Job, JobT
from bullrush.job.record import GivenRecord
from bullrush.routing.target import route_key
from bullrush.values import checks
from bullrush.values.encoding import JSON, encode
from bullrush.values.naming import check_prefix, check_queue_name, id_of_job
from bullrush.values.options import checked_options, declare_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Unpack

    from bullrush import _core
    from bullrush.job.job import JobCalls
    from bullrush.job.record import Record

_DEFAULT_DEPTH: Final = 10
_DEFAULT_CHILDREN: Final = 20
#: A queue name for calls that concern no certain queue.
_ANY_QUEUE: Final = "flows"


@declare_options
class FlowOptions(HandleOptions, AddingOptions, total=False):
    """Options of a flow producer; they mean the same as in `bullrush.queue.QueueOptions`."""


@dataclass
class JobNode(Generic[JobT]):
    """A job of a flow.

    Attributes:
        job: the job.
        children: its children, in order.
        attached: False for a job that its parent does not wait for: it existed and keeps its other parent, or it was
            deduplicated.
        added: False for a job that was not stored: one with its id existed already, or it was deduplicated.
    """

    job: JobT
    children: list[JobNode[JobT]] = field(default_factory=list)
    attached: bool = True
    added: bool = True


class FlowProducerCalls(ReportsOutages, Generic[JobT]):
    """The calls of a flow producer, written once for both APIs."""

    _job_type: ClassVar[Callable[..., JobCalls]]
    _events: ClassVar[Mapping[str, str]] = {"error": "(error)"}

    @options_by_name
    def __init__(self, **options: Unpack[FlowOptions]) -> None:
        """Make a flow producer. It connects at the first call.

        Args:
            options: see `FlowOptions`.

        Raises:
            InvalidOptionError: an option does not exist or has an invalid value.
        """
        settings = checked_options(FlowOptions, options, type(self).__name__)
        super().__init__(settings, options)
        self._payload_limit: int | None = settings.payload_limit
        self._core_settings = of_queue(settings)
        self._options: FlowOptions = options
        self._queues: dict[tuple[object, ...], FlowQueue] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._shown_url}>"

    def __getstate__(self) -> dict[str, object]:
        # With the resolved URL: after unpickling in another environment it is still the same server.
        return {"options": {**self._options, "url": self._url}}

    def __setstate__(self, state: dict[str, JSON]) -> None:
        FlowProducerCalls.__init__(self, **state["options"])

    @operation
    async def add(self, flow: Flow, *, queues_options: Mapping[str, QueueDefaults] | None = None) -> JobNode[JobT]:
        """Add a tree of jobs: all of them or none.

        Args:
            flow: the root; see `Flow`.
            queues_options: ``{queue_name: {"default_job_options": {...}}}``: the default options of the jobs of a
                queue.

        Returns:
            The jobs as a tree. A child that existed already with another parent keeps it, and is not ``attached``.

        Raises:
            InvalidOptionError: a job of the flow has an error.
            QueueNameError: a job of the flow has no valid ``queue_name``.
            DataError: a job's data is not JSON.
            ParentNotFoundError: the root's ``parent`` does not exist.
            ParentReplacedError: the root exists already and has another parent.
            ConnectionLostError: Redis could not be reached; nothing was added.
            OutcomeUnknownError: the connection broke; all jobs were added or none. This is only possible if every job
                has a custom id, or a job has a deduplication id.

        Redis:
            One script, ``add/add_linked_jobs``; about 10 µs of the server's time per job.
        """
        if self._telemetry is None:
            return (await self._add_flows([flow], queues_options))[0]
        check_flow(flow)
        with self.trace("addFlow", flow.get("queue_name"), kind="producer") as span:
            span.set_attributes(
                {"bullmq.queue.name": flow.get("queue_name", ""), "bullmq.flow.name": flow.get("name", "")}
            )
            return (await self._add_flows([flow], queues_options, NodeSpans(self._telemetry)))[0]

    @operation
    async def add_bulk(self, flows: Iterable[Flow]) -> list[JobNode[JobT]]:
        """Add several trees of jobs: all jobs of all trees or none. See `add`.

        Args:
            flows: the trees; see `Flow`.
        """
        if self._telemetry is None:
            return await self._add_flows(list(flows), None)
        with self.trace("addBulkFlows", kind="producer") as span:
            roots = await self._add_flows(list(flows), None, NodeSpans(self._telemetry))
            names = ",".join(root.job.name for root in roots)
            span.set_attributes({"bullmq.job.bulk.count": len(roots), "bullmq.job.bulk.names": names})
            return roots

    @operation
    async def get_flow(
        self,
        *,
        id: str,
        queue_name: str,
        prefix: str | None = None,
        depth: int = _DEFAULT_DEPTH,
        max_children: int = _DEFAULT_CHILDREN,
    ) -> JobNode[JobT] | None:
        """Return a job and its descendants, None if there is no such job.

        Args:
            id: the id of the root.
            queue_name: the queue of the root.
            prefix: the prefix of that queue's keys; that of the flow producer by default.
            depth: how many levels to read, including the root.
            max_children: how many children of each state (unfinished, completed, failed) to read per job.

        Returns:
            The jobs as a tree. Children that were removed are left out.

        Redis:
            Two round trips per level and queue.
        """
        levels, limit = checks.at_least(1)("depth", depth), checks.at_least(1)("max_children", max_children)
        queue = self._queue(check_prefix(prefix or self._prefix), check_queue_name(queue_name))
        level = await self._read(queue.core, [(queue.prefix, queue.name, id_of_job(id))])
        root = level[0]
        for _ in range(levels - 1):
            level = await self._read_children(queue.core, [node for node in level if node is not None], limit)
        return root

    async def _read_children(
        self, core: CoreQueue, level: list[JobNode[JobT]], limit: int
    ) -> list[JobNode[JobT] | None]:
        """Read the children of all jobs of a level, add them to their nodes, and return them."""
        jobs = [f"{node.job.queue_qualified_name}:{node.job.id}" for node in level]
        found = await reply(core.keys_of_children(jobs, limit)) if jobs else []
        child_addresses = [
            (node, [self._address(key, node.job.prefix) for key in keys])
            for node, keys in zip(level, found, strict=True)
        ]
        children = await self._read(core, [address for _, addresses in child_addresses for address in addresses])
        remaining = iter(children)
        for node, addresses in child_addresses:
            node.children = [child for child in (next(remaining) for _ in addresses) if child is not None]
        return children

    async def _read(self, core: CoreQueue, addresses: list[tuple[str, str, str]]) -> list[JobNode[JobT] | None]:
        """Read jobs by prefix, queue and id; None for a job that does not exist."""
        if not addresses:
            return []
        found = await reply(core.hashes([":".join(address) for address in addresses]))
        nodes: list[JobNode[JobT] | None] = []
        for (prefix, name, job_id), fields in zip(addresses, found, strict=True):
            record = GivenRecord(dict(fields), job_id)
            nodes.append(JobNode(self._job(record, self._queue(prefix, name))) if fields else None)
        return nodes

    def _address(self, key: str, near: str) -> tuple[str, str, str]:
        """Split a job's key into prefix, queue and id. Prefixes and ids may have colons, queue names have none."""
        known = {self._prefix, near, *(queue.prefix for queue in list(self._queues.values()))}
        prefix = max(
            (prefix for prefix in known if key.startswith(f"{prefix}:")), key=len, default=key.partition(":")[0]
        )
        name, _, job_id = key[len(prefix) + 1 :].partition(":")
        return prefix, name, job_id

    async def _add_flows(
        self,
        flows: list[Flow],
        queues_options: Mapping[str, QueueDefaults] | None,
        spans: NodeSpans | None = None,
    ) -> list[JobNode[JobT]]:
        flow_plan = plan_flows(
            flows, self._prefix, option_compilers(queues_options, self._payload_limit), now_ms(), spans
        )
        if not flow_plan.planned:
            return []
        queues = [self._queue(job.prefix, job.queue, job.route) for job in flow_plan.planned]
        for queue in dict.fromkeys(queues):
            if not queue.checked:
                await reply(queue.core.prepare())
                # A route is registered again from time to time.
                queue.checked = not queue.is_route
        left_out, unattached = await reply(queues[0].core.add_flows(flow_plan.new))
        alone, old = set(unattached), set(left_out)
        nodes: list[JobNode[JobT]] = []
        roots: list[JobNode[JobT]] = []
        for job, queue, record in zip(flow_plan.planned, queues, flow_plan.new.records(), strict=True):
            place = len(nodes)
            node = JobNode(self._job(record, queue), attached=place not in alone, added=place not in old)
            (roots if job.parent is None else nodes[job.parent].children).append(node)
            nodes.append(node)
        return roots

    def _forget_url(self) -> None:
        super()._forget_url()
        self._queues.clear()

    def _queue(self, prefix: str, name: str, route: tuple[str, _core.CoreTarget] | None = None) -> FlowQueue:
        if self._closing:
            raise self._closed_error()
        base, target = route or (name, None)
        key = (prefix, name, target and route_key(target))
        queue = self._queues.get(key)
        if queue is None:
            core = CoreQueue(self._url, prefix, base, encode(self._core_settings, "options"), target=target)
            queue = self._queues[key] = FlowQueue(core, prefix, name, is_route=target is not None)
        return queue

    def _job(self, record: Record, queue: FlowQueue) -> JobT:
        return self._job_type(record, queue)  # type: ignore[return-value]

    @operation
    async def wait_until_ready(self) -> None:
        """Connect now and check the server. A queue is checked when the first flow with a job in it is added.

        Raises:
            ConnectionLostError: Redis could not be reached in time.
        """
        await reply(self._queue(self._prefix, _ANY_QUEUE).core.ping())

    def _shut_down(self) -> None:
        super()._shut_down()
        self._queues.clear()


class FlowProducer(BlockingContext, FlowProducerCalls[Job]):
    """Adds flows: trees of jobs. Its calls block; `bullrush.aio.FlowProducer` has the same calls to be awaited.

    It can be pickled (as its configuration) and used before and after a fork.
    """

    _job_type = Job
