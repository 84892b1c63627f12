"""Flows: trees of jobs in any queues, in which every parent waits for its children."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypedDict

from bullrush._core import CoreQueue, ManualWork, WorkerTerms, now_ms
from bullrush.base.closing import BlockingContext
from bullrush.base.operation import operation, reply
from bullrush.base.outages import ReportsOutages
from bullrush.flow.plan import Flow, NodeSpans, QueueDefaults, compilers, plan
from bullrush.job.job import Job, JobT
from bullrush.job.record import AddedRecord, GivenRecord
from bullrush.telemetry.protocol import Telemetry
from bullrush.url import masked
from bullrush.values import checks
from bullrush.values.encoding import JSON
from bullrush.values.naming import check_known, check_prefix, check_queue_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Unpack

    from bullrush import _core
    from bullrush.job.job import JobCalls
    from bullrush.job.record import Record
    from bullrush.job.source import ProgressListener
    from bullrush.values.checks import Duration

_DEFAULT_TIMEOUT: Final = 10_000
_DEFAULT_DEPTH: Final = 10
_DEFAULT_CHILDREN: Final = 20
#: Connecting needs the name of a queue.
_ANY_QUEUE: Final = "flows"


class FlowOptions(TypedDict, total=False):
    """Options of a flow producer: those of a queue that concern a connection; see `bullrush.queue.queue.QueueOptions`."""

    url: str | None
    prefix: str
    telemetry: Telemetry | None
    timeout: Duration | None


@dataclass
class JobNode(Generic[JobT]):
    """A job of a flow.

    Attributes:
        job: the job.
        children: its children, in order.
        attached: False for a job that its parent does not wait for: it existed and has another parent, which it keeps, or it was
            deduplicated.
    """

    job: JobT
    children: list[JobNode[JobT]] = field(default_factory=list)
    attached: bool = True


_KNOWN: Final = frozenset(FlowOptions.__annotations__)


@dataclass(eq=False)
class _FlowQueue:
    """A queue that a flow has jobs in: what these jobs call back to."""

    core: CoreQueue
    url: str
    prefix: str
    name: str
    checked: bool = False
    on_progress: ProgressListener | None = None
    backoff_strategy: None = None

    @cached_property
    def manual(self) -> ManualWork:
        """The compiled side of finishing jobs by hand."""
        return ManualWork(self.url, self.prefix, self.name, WorkerTerms())

    def emit(self, event: str, *arguments: object) -> bool:  # noqa: ARG002 - nobody listens to a flow's queues
        return False

    def put_start_on_record(self, record: Record) -> None:
        """Do nothing: only a running worker claims jobs ahead."""


class FlowProducerCalls(ReportsOutages, Generic[JobT]):
    """The calls of a flow producer, whichever way they are waited for."""

    _job_type: ClassVar[Callable[..., JobCalls]]
    _events: ClassVar[Mapping[str, str]] = {"error": "(error)"}

    def __init__(self, **options: Unpack[FlowOptions]) -> None:
        """Take the options. Nothing is sent before the first call.

        Raises:
            InvalidOptionError: an option does not exist or has a bad value.
        """
        check_known(options, _KNOWN, type(self).__name__)
        super().__init__(options.get("url"), options.get("prefix", "bull"), options)
        timeout = options.get("timeout", _DEFAULT_TIMEOUT)
        self._timeout = None if timeout is None else checks.milliseconds("timeout", timeout)
        # The URL as resolved: unpickled elsewhere, it is still the same one.
        self._options: FlowOptions = {**options, "url": self._url}
        self._queues: dict[tuple[str, str], _FlowQueue] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {masked(self._url)}>"

    def __getstate__(self) -> dict[str, object]:
        return {"options": self._options}

    def __setstate__(self, state: dict[str, JSON]) -> None:
        FlowProducerCalls.__init__(self, **state["options"])

    @operation
    async def add(self, flow: Flow, *, queues_options: Mapping[str, QueueDefaults] | None = None) -> JobNode[JobT]:
        """Add a tree of jobs: all of it or nothing.

        Args:
            flow: the root; see `Flow`.
            queues_options: ``{queue_name: {"default_job_options": {...}}}``: options of the jobs of a queue that do not say otherwise.

        Returns:
            The jobs, as a tree. A child that exists already and has another parent keeps it, and is not ``attached``.

        Raises:
            InvalidOptionError: the flow cannot be added as it is; the message names the job.
            DataError: a job's data is not JSON.
            ParentNotFoundError: the root's ``parent`` does not exist.
            ParentReplacedError: the root exists already and has another parent than its ``parent``.
            ConnectionLostError: Redis could not be reached; nothing was added.
            OutcomeUnknownError: the connection broke; all was added or nothing. It is only raised if no job's id was left to the
                producer, or a job is deduplicated.

        Redis:
            One script, about 10 µs of the server's time per job: ``add/add_linked_jobs``.
        """
        if self._telemetry is None:
            return (await self._added([flow], queues_options))[0]
        with self.trace("addFlow", flow.get("queue_name"), kind="producer") as span:
            span.set_attributes(
                {"bullmq.queue.name": flow.get("queue_name", ""), "bullmq.flow.name": flow.get("name", "")}
            )
            return (await self._added([flow], queues_options, NodeSpans(self._telemetry)))[0]

    @operation
    async def add_bulk(self, flows: Iterable[Flow]) -> list[JobNode[JobT]]:
        """Add several trees of jobs: all of them or nothing. See `add`."""
        if self._telemetry is None:
            return await self._added(list(flows), None)
        with self.trace("addBulkFlows", kind="producer") as span:
            roots = await self._added(list(flows), None, NodeSpans(self._telemetry))
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
        """Return a job and what is below it, None if there is no such job.

        Args:
            id: the job at the root.
            queue_name: its queue.
            prefix: how the keys of its queue begin, if not like the producer's.
            depth: how many levels, with the root.
            max_children: how many children of each kind (waited for, completed, failed) a job shows.

        Returns:
            The jobs as a tree; children that were removed are left out.

        Redis:
            Two round trips per level and queue.
        """
        levels, limit = checks.at_least(1)("depth", depth), checks.at_least(1)("max_children", max_children)
        queue = self._queue(check_prefix(prefix or self._prefix), check_queue_name(queue_name))
        level = await self._read(queue.core, [(queue.prefix, queue.name, id)])
        root = level[0]
        for _ in range(levels - 1):
            level = await self._grow(queue.core, [node for node in level if node is not None], limit)
        return root

    async def _grow(self, core: CoreQueue, level: list[JobNode[JobT]], limit: int) -> list[JobNode[JobT] | None]:
        """Give all jobs of a level their children; return these."""
        commands: list[list[int | str | bytes]] = []
        for node in level:
            key = f"{node.job.queue_qualified_name}:{node.job.id}"
            commands += [
                ["HSCAN", f"{key}:processed", 0, "COUNT", limit],
                ["SSCAN", f"{key}:dependencies", 0, "COUNT", limit],
                ["HSCAN", f"{key}:failed", 0, "COUNT", limit],
                ["ZRANGE", f"{key}:unsuccessful", 0, limit - 1],
            ]
        replies = await reply(core.commands(commands)) if commands else []
        families = []
        for place, node in enumerate(level):
            (_, processed), (_, awaited), (_, ignored), failed = replies[4 * place : 4 * place + 4]
            kinds = (processed[::2], awaited, ignored[::2], failed)
            keys = dict.fromkeys(key.decode() for kind in kinds for key in kind[:limit])
            families.append((node, [self._address(key, node.job.prefix) for key in keys]))
        children = await self._read(core, [address for _, addresses in families for address in addresses])
        born = iter(children)
        for node, addresses in families:
            node.children = [child for child in (next(born) for _ in addresses) if child is not None]
        return children

    async def _read(self, core: CoreQueue, addresses: list[tuple[str, str, str]]) -> list[JobNode[JobT] | None]:
        """Read jobs by prefix, queue and id; None for each that is gone."""
        if not addresses:
            return []
        found = await reply(core.commands([["HGETALL", ":".join(address)] for address in addresses]))
        nodes: list[JobNode[JobT] | None] = []
        for (prefix, name, job_id), flat in zip(addresses, found, strict=True):
            fields = {raw.decode(errors="replace"): value for raw, value in zip(flat[::2], flat[1::2], strict=True)}
            record = GivenRecord(fields, job_id)
            nodes.append(JobNode(self._job(record, self._queue(prefix, name))) if flat else None)
        return nodes

    def _address(self, key: str, near: str) -> tuple[str, str, str]:
        """Split a job's key into prefix, queue and id; prefixes and ids may have colons, names of queues have none."""
        known = {self._prefix, near, *(prefix for prefix, _ in self._queues)}
        prefix = max(
            (prefix for prefix in known if key.startswith(f"{prefix}:")), key=len, default=key.partition(":")[0]
        )
        name, _, job_id = key[len(prefix) + 1 :].partition(":")
        return prefix, name, job_id

    async def _added(
        self,
        flows: list[Flow],
        queues_options: Mapping[str, QueueDefaults] | None,
        spans: NodeSpans | None = None,
    ) -> list[JobNode[JobT]]:
        planned = plan(flows, self._prefix, compilers(queues_options), now_ms(), spans)
        if not planned:
            return []
        queues = {address: self._queue(*address) for address in dict.fromkeys(job.address for job in planned)}
        for queue in queues.values():
            if not queue.checked:
                await reply(queue.core.prepare())
                queue.checked = True
        sent: list[tuple[_core.NewJob, _core.Link]] = [(job.job, job.link) for job in planned]
        ids, _, unattached = await reply(queues[planned[0].address].core.add_linked_jobs(sent, whole=True))
        alone = set(unattached)
        nodes: list[JobNode[JobT]] = []
        roots: list[JobNode[JobT]] = []
        for job, job_id in zip(planned, ids, strict=True):
            record = AddedRecord(job_id, job.job, job.link)
            node = JobNode(self._job(record, queues[job.address]), attached=len(nodes) not in alone)
            (roots if job.parent is None else nodes[job.parent].children).append(node)
            nodes.append(node)
        return roots

    def _queue(self, prefix: str, name: str) -> _FlowQueue:
        if self._closing:
            raise self._closed_error()
        queue = self._queues.get((prefix, name))
        if queue is None:
            core = CoreQueue(self._url, prefix, name, skip_metas_update=True, timeout_ms=self._timeout)
            queue = self._queues[prefix, name] = _FlowQueue(core, self._url, prefix, name)
        return queue

    def _job(self, record: Record, queue: _FlowQueue) -> JobT:
        return self._job_type(record, queue)  # type: ignore[return-value]

    @operation
    async def wait_until_ready(self) -> None:
        """Connect now and check the server; queues are checked when a flow first has jobs in them.

        Raises:
            ConnectionLostError: Redis could not be reached in time.
        """
        await reply(self._queue(self._prefix, _ANY_QUEUE).core.commands([["PING"]]))

    def _shut_down(self) -> None:
        super()._shut_down()
        self._queues.clear()


class FlowProducer(BlockingContext, FlowProducerCalls[Job]):
    """Adds trees of jobs. Its calls block; `bullrush.aio.FlowProducer` has the same ones to be awaited.

    It pickles as its configuration and may be used on both sides of a fork.
    """

    _job_type = Job
