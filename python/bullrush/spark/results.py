"""The results of jobs as rows of DataFrames and RDDs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

if TYPE_CHECKING:
    import pyarrow


class JobResult(NamedTuple):
    """The result of one job that completed, or failed for good.

    Attributes:
        jobId: the job's id.
        name: the job's name.
        state: ``completed`` or ``failed``.
        result: the result of the handler; None if the job failed.
        error: the reason of the failure; None if the job completed.
        attempts: how many attempts were made.
        ms: how long the last attempt took.
        queue: the job's queue: that of the worker, or a route of it.
    """

    jobId: str  # noqa: N815 - BullMQ's name, as in every table of jobs
    name: str
    state: str
    result: Any
    error: str | None
    attempts: int
    ms: float
    queue: str = ""


#: The columns of each result; `queue` comes after them where workers also serve routes.
JOB_COLUMNS: Final = JobResult._fields[:7]
#: The columns as a Spark schema; `result` is JSON there.
SCHEMA: Final = "jobId string, name string, state string, result string, error string, attempts long, ms double"
#: The same with the queue.
ROUTED_SCHEMA: Final = f"{SCHEMA}, queue string"


#: The state of a row that is no result: it has the profile of a task, as JSON in ``error``.
PROFILE: Final = "profile"


def profile_row(profile: object) -> list[JobResult]:
    """Return a row that tells the driver the profile of a task."""
    return [JobResult("", "", PROFILE, None, orjson.dumps(profile).decode(), 0, 0.0)]


def to_batch(results: Sequence[JobResult], *, queues: bool = False) -> pyarrow.RecordBatch:
    """Return results as an Arrow batch with the columns of `SCHEMA`; with ``queues`` those of `ROUTED_SCHEMA`."""
    # Imported here, since a worker for RDDs needs no pyarrow.
    import pyarrow as pa

    texts = [(name, pa.string()) for name in JOB_COLUMNS[:5]]
    schema = pa.schema([*texts, ("attempts", pa.int64()), ("ms", pa.float64()), ("queue", pa.string())])
    columns: list[Any] = list(zip(*results, strict=True)) if results else [()] * len(schema)
    columns[3] = [
        orjson.dumps(value).decode() if state == "completed" else None
        for value, state in zip(columns[3], columns[2], strict=True)
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    count = len(schema) if queues else len(JOB_COLUMNS)
    return pa.record_batch(arrays[:count], schema=pa.schema(list(schema)[:count]))
