"""Arrow handlers in plain workers; the guide and examples/vector_model.py run them in Spark."""

import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import compute

from bullrush import Queue, Worker
from bullrush.errors import InvalidOptionError
from bullrush.spark import arrow_handler

XY = pa.schema([("x", pa.float64()), ("label", pa.string())])
Workers = Callable[..., Worker]


def ends(queue: Queue, worker: Workers, handler: Any, *data: Any, **options: Any) -> dict[str, Any]:
    """Run jobs with these data in one batch; return their results or reasons by id."""
    jobs = queue.add_bulk([{"name": "x", "data": value} for value in data])
    worker(batch_handler=handler, batch_size=100, **options).run(until="drained")
    done = [queue.get_job(job.id) for job in jobs]
    return {job.id: job.failed_reason or job.returnvalue for job in done if job is not None}


def test_jobs_are_columns_and_rows_are_results(queue: Queue, worker: Workers) -> None:
    batches = []

    def double(batch: pa.RecordBatch) -> dict[str, Any]:
        batches.append(batch)
        return {"y": compute.multiply(batch["x"], 2), "label": batch["label"]}

    handler = arrow_handler(double, input=XY)
    assert ends(queue, worker, handler, {"x": 1.5, "label": "a", "more": 1}, {"x": 2}) == {
        "1": {"y": 3.0, "label": "a"},
        "2": {"y": 4.0, "label": None},
    }
    assert [batch.schema for batch in batches] == [XY]


def test_what_a_function_returns_may_be_any_table_and_nan_is_null(queue: Queue, worker: Workers) -> None:
    import numpy as np

    def root(batch: pa.RecordBatch) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            return {"root": np.sqrt(batch["x"].to_numpy())}

    handler = arrow_handler(root, input=XY)
    assert ends(queue, worker, handler, {"x": 4}, {"x": -1}) == {"1": {"root": 2.0}, "2": {"root": None}}
    table = arrow_handler(lambda batch: pa.Table.from_batches([batch]), input=XY)
    assert ends(queue, worker, table, {"x": 1}) == {"3": {"x": 1.0, "label": None}}


def test_a_job_whose_data_do_not_fit_fails_alone(queue: Queue, worker: Workers) -> None:
    handler = arrow_handler(lambda batch: batch.select(["x"]), input=XY)
    reason = "The job's data do not fit the schema x double, label string"
    assert ends(queue, worker, handler, {"x": 1}, {"x": "many"}, 5, None, {"x": 2}) == {
        "1": {"x": 1.0},
        "2": reason,
        "3": reason,
        "4": reason,
        "5": {"x": 2.0},
    }


def test_a_job_without_a_field_that_must_be_there_fails_alone(queue: Queue, worker: Workers) -> None:
    schema = pa.schema([pa.field("x", pa.float64(), nullable=False), ("label", pa.string())])
    seen = []

    def same(batch: pa.RecordBatch) -> pa.RecordBatch:
        seen.append(batch.schema)
        return batch.select(["x"])

    handler = arrow_handler(same, input=schema)
    reason = "The field 'x' is missing or null in the job's data"
    assert ends(queue, worker, handler, {"x": 1}, {"label": "a"}, {"x": None}, 5, {"x": 2}) == {
        "1": {"x": 1.0},
        "2": reason,
        "3": reason,
        "4": "The job's data do not fit the schema x double, label string",
        "5": {"x": 2.0},
    }
    assert seen == [schema]


def test_rows_that_the_function_marks_fail_alone(queue: Queue, worker: Workers) -> None:
    def picky(batch: pa.RecordBatch) -> dict[str, Any]:
        return {"x": batch["x"], "why": [None if x.as_py() > 0 else "not positive" for x in batch["x"]]}

    handler = arrow_handler(picky, input=XY, error="why")
    assert ends(queue, worker, handler, {"x": 1}, {"x": -1}) == {"1": {"x": 1.0}, "2": "not positive"}


def test_a_wrong_number_of_rows_fails_the_batch(queue: Queue, worker: Workers) -> None:
    handler = arrow_handler(lambda batch: batch.slice(1), input=XY)
    reason = "An Arrow handler returns one row per job: 2 jobs, got 1 rows"
    assert set(ends(queue, worker, handler, {"x": 1}, {"x": 2}).values()) == {reason}


def test_a_handler_pickles_and_wrong_ones_are_refused() -> None:
    pickle.loads(pickle.dumps(arrow_handler(len, input=XY)))

    async def later(batch: pa.RecordBatch) -> None:
        pass

    for function, schema in ((later, XY), (None, XY), (len, pa.schema([])), (len, XY.field("x"))):
        with pytest.raises(InvalidOptionError):
            arrow_handler(function, input=schema)  # type: ignore[arg-type]
