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
    """

    jobId: str  # noqa: N815 - BullMQ's name, as in every table of jobs
    name: str
    state: str
    result: Any
    error: str | None
    attempts: int
    ms: float


#: The columns as a Spark schema; `result` is JSON there.
SCHEMA: Final = "jobId string, name string, state string, result string, error string, attempts long, ms double"


def to_batch(results: Sequence[JobResult]) -> pyarrow.RecordBatch:
    """Return results as an Arrow batch with the columns of `SCHEMA`."""
    # Imported here, since a worker for RDDs needs no pyarrow.
    import pyarrow as pa

    schema = pa.schema(
        [(name, pa.string()) for name in JobResult._fields[:5]] + [("attempts", pa.int64()), ("ms", pa.float64())]
    )
    ids, names, states, values, errors, attempts, times = zip(*results, strict=True) if results else ((),) * 7
    done = [
        orjson.dumps(value).decode() if state == "completed" else None
        for value, state in zip(values, states, strict=True)
    ]
    columns = (ids, names, states, done, errors, attempts, times)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)
