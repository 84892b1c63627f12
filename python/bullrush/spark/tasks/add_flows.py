"""Adds the groups of a partition as flows: one parent per group, with the group's rows as its children."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from bullrush.arrow import rows_as_json
from bullrush.errors import InvalidOptionError, OutcomeUnknownError
from bullrush.extending import MAX_JOBS
from bullrush.flow import Flow, FlowProducer
from bullrush.job import JobOptions
from bullrush.spark.address import Address, NamingServer

if TYPE_CHECKING:
    import pyarrow

#: A call takes flows until they have this many jobs: about 3 ms of the server's time.
_JOBS_PER_CALL: Final = 250
_TRIES: Final = 3
_WHOLE_NUMBER: Final = re.compile(r"-?\d+")


class _Row(NamedTuple):
    """A row: the place of its server, its group's key, and the data, names and ids of the two jobs."""

    place: int
    key: bytes
    parent: bytes
    parent_name: str
    parent_id: str | None
    child: bytes
    child_name: str
    child_id: str | None


@dataclass(frozen=True)
class Side:
    """How the parents, or the children, are made of columns.

    Attributes:
        queue: their queue.
        name: the name of all, or None.
        name_column: the column with the names, or None.
        data: the columns of their data.
        job_id: the column with their ids, None for automatic ids.
        opts: their options.
    """

    queue: str
    name: str | None
    name_column: str | None
    data: Sequence[str]
    job_id: str | None
    opts: JobOptions

    def job(self, name: str, data: object, job_id: str) -> Flow:
        """Return one of these jobs."""
        return {"name": name, "queue_name": self.queue, "data": data, "opts": {**self.opts, "job_id": job_id}}

    def names(self, batch: pyarrow.RecordBatch) -> list[str]:
        """Return the names of the rows of a batch."""
        if self.name_column is None:
            return [self.name or self.queue] * batch.num_rows
        return _texts(batch, self.name_column, "name")

    def ids(self, batch: pyarrow.RecordBatch) -> list[str] | list[None]:
        """Return the ids of the rows of a batch, None for automatic ids."""
        if self.job_id is None:
            return [None] * batch.num_rows
        texts = _texts(batch, self.job_id, "id")
        # BullMQ refuses whole numbers as ids: they are the ids of its own counter.
        return [f"{self.job_id}-{text}" if _WHOLE_NUMBER.fullmatch(text) else text for text in texts]


@dataclass
class AddedFlows:
    """Counts of jobs: new parents, new children, and jobs whose ids existed."""

    parents: int = 0
    children: int = 0
    duplicates: int = 0
    _waiting: list[Flow] = field(default_factory=list)
    _jobs: int = 0

    def add(self, producer: FlowProducer, flow: Flow) -> None:
        """Add a flow, together with the next ones."""
        self._waiting.append(flow)
        self._jobs += 1 + len(flow["children"])
        if self._jobs >= _JOBS_PER_CALL:
            self.flush(producer)

    @property
    def counts(self) -> tuple[int, int, int]:
        """The three counts."""
        return self.parents, self.children, self.duplicates

    def flush(self, producer: FlowProducer) -> None:
        """Add what waits."""
        if not self._waiting:
            return
        for root in _added(producer, self._waiting):
            new = sum(child.added for child in root.children)
            self.parents += root.added
            self.children += new
            self.duplicates += len(root.children) + 1 - new - root.added
        self._waiting, self._jobs = [], 0


@dataclass(frozen=True)
class AddFlows:
    """The function of `enqueue_flows` for ``mapInArrow``. The rows of a group come one after the other.

    Attributes:
        addresses: where the queues are, on one or several servers. For several, the last column of the rows has the
            place of their server.
        columns: the names of the rows' columns, which Spark passes under other names.
        by: the columns that make a group.
        parents: how parents are made.
        children: how children are made.
        scope: a part of automatic ids.
    """

    addresses: Sequence[Address]
    columns: Sequence[str]
    by: Sequence[str]
    parents: Side
    children: Side
    scope: str

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Add the flows, and yield one row with the counts."""
        import pyarrow as pa

        added = self.add(batches)
        counts = {"parents": added.parents, "children": added.children, "duplicates": added.duplicates}
        yield pa.RecordBatch.from_pydict({name: [count] for name, count in counts.items()})

    def add(self, batches: Iterable[pyarrow.RecordBatch]) -> AddedFlows:
        """Add the flows, and return the counts."""
        servers = [AddedFlows() for _ in self.addresses]
        with ExitStack() as opened:
            producers = [opened.enter_context(self._producer(address)) for address in self.addresses]
            for (place, key), rows in groupby(self._rows(batches), lambda row: (row.place, row.key)):
                flow = self._flow(key, rows)
                with NamingServer(self.addresses, place):
                    servers[place].add(producers[place], flow)
            for place, (added, producer) in enumerate(zip(servers, producers, strict=True)):
                with NamingServer(self.addresses, place):
                    added.flush(producer)
        return AddedFlows(*(sum(counts) for counts in zip(*(added.counts for added in servers), strict=True)))

    @staticmethod
    def _producer(address: Address) -> FlowProducer:
        return FlowProducer(url=address.opened_url(), prefix=address.prefix)

    def _rows(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[_Row]:
        for given in batches:
            places, rows = [0] * given.num_rows, given
            if len(self.addresses) > 1:
                places, rows = given.column(len(self.columns)).to_pylist(), given.select(list(range(len(self.columns))))
            batch = rows.rename_columns(self.columns)
            keys = rows_as_json(batch, self.by)
            parents, children = (
                (rows_as_json(batch, side.data), side.names(batch), side.ids(batch))
                for side in (self.parents, self.children)
            )
            yield from map(_Row, places, keys, *parents, *children)

    def _flow(self, key: bytes, rows: Iterator[_Row]) -> Flow:
        """Return the flow of a group. Its ids depend on the content of its rows, and not on their order."""
        first = next(rows)
        parent_id = first.parent_id or f"{self.scope}.{_hash(key, self.parents.name or '')}"
        jobs: list[Flow] = []
        equal: Counter[str] = Counter()
        for row in (first, *rows):
            if row.parent_id != first.parent_id:
                raise InvalidOptionError(
                    f"The group {key.decode()} has two parent ids: {first.parent_id!r} and {row.parent_id!r}"
                )
            child_id = row.child_id
            if child_id is None:
                content = f"{parent_id}.{_hash(row.child, row.child_name)}"
                child_id = f"{content}.{equal[content]}"
                equal[content] += 1
            jobs.append(self.children.job(row.child_name, orjson.loads(row.child), child_id))
            if len(jobs) == MAX_JOBS:
                raise InvalidOptionError(f"The group {key.decode()} has more than {MAX_JOBS - 1:,} rows: split it")
        return {**self.parents.job(first.parent_name, orjson.loads(first.parent), parent_id), "children": jobs}


def _added(producer: FlowProducer, flows: list[Flow]) -> list[Any]:
    """Add flows. All jobs have ids, so a call without a reply can be sent again."""
    for left in reversed(range(_TRIES)):
        try:
            return producer.add_bulk(flows)
        except OutcomeUnknownError:
            if not left:
                raise
    raise AssertionError


def _hash(data: bytes, name: str) -> str:
    return blake2b(data + b"\n" + name.encode(), digest_size=16).hexdigest()


def _texts(batch: pyarrow.RecordBatch, column: str, role: str) -> list[str]:
    values = batch.column(column).to_pylist()
    if None in values:
        raise InvalidOptionError(f"Column {column!r} has a null: every job needs a {role}")
    return [str(value) for value in values]
