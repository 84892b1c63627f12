"""What `drain` asks Redis before, between and after its tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bullrush import errors
from bullrush.spark.address import Address
from bullrush.spark.routing.queues import queues_of

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

    from bullrush.queue import Queue


def ask(spark: SparkSession, address: Address, question: Callable[..., Any], *arguments: object) -> Any:
    """Return ``question(address, ...)``, which must be JSON.

    It runs on the driver. If only the executors know the address, it runs in a task of its own.

    Raises:
        BullrushError: the error of the question, also if it ran in a task, which Spark then does not repeat.
    """
    if address.is_known_here():
        return question(address, *arguments)
    answers = spark.range(0, 1, 1, 1).mapInArrow(_Asked(address, question, arguments), "answer string").collect()
    answer, error, arguments = json.loads(answers[0].answer)
    if error is not None:
        raise getattr(errors, error)(*arguments)
    return answer


def look(address: Address, run: str, routes: bool = False) -> tuple[dict[str, int], str | None]:
    """Return how many jobs the list of a run has, and which queue is paused, if one is.

    Args:
        address: the queue.
        run: the run.
        routes: look at the routes of the queue, too.

    Raises:
        ConnectionLostError, RedisServerError: Redis cannot be used.
    """
    with address.open_on_driver() as queue:
        # A script: a user without the right to run any would let the workers wait for it.
        queue.get_job_counts("waiting")
        names = queues_of(queue, routes)
        lengths = queue.core.run_lengths(names, run).wait()
        return dict(zip(names, lengths, strict=True)), paused_queue(queue, names)


def paused_queue(queue: Queue, names: Sequence[str]) -> str | None:
    """Return the first of some queues that is paused: the base, or routes of it.

    Redis:
        One HEXISTS per queue, in one pipeline.
    """
    paused = queue.core.are_paused(names).wait()
    return next((name for name, is_paused in zip(names, paused, strict=True) if is_paused), None)


@dataclass(frozen=True)
class _Asked:
    address: Address
    question: Callable[..., Any]
    arguments: tuple[object, ...]

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        for _ in batches:
            pass
        try:
            answer: tuple[Any, ...] = (self.question(self.address, *self.arguments), None, ())
        except errors.BullrushError as error:
            answer = (None, type(error).__name__, error.args)
        yield pa.RecordBatch.from_pydict({"answer": [json.dumps(answer)]})
