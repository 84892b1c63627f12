"""What must be true after every fault."""

from itertools import islice

from pyspark.sql import DataFrame, functions
from redis import Redis

from bullrush import Queue
from tests.spark_cluster.ledger import Ledger

_PAGE = 10_000


def check_results(results: DataFrame, jobs: int) -> None:
    """Each job has one row, and its own result."""
    found = results.agg(
        functions.count("*").alias("rows"),
        functions.count_distinct("jobId").alias("jobs"),
        functions.count_distinct("n").alias("results"),
        functions.sum("n").alias("sum"),
        functions.sum((functions.col("state") == "completed").cast("long")).alias("completed"),
    ).first()
    assert found is not None
    assert found.asDict() == {
        "rows": jobs,
        "jobs": jobs,
        "results": jobs,
        "sum": jobs * (jobs - 1) // 2,
        "completed": jobs,
    }


def check_runs(queue: Queue, redis: Redis, ledger: Ledger, jobs: int) -> set[str]:
    """Each job ran, nothing is left, and only stalled jobs ran again. Returns the jobs that did."""
    counts = {state: count for state, count in queue.get_job_counts().items() if count}
    assert counts == {"completed": jobs}
    starts = ledger.starts()
    assert starts.keys() == set(redis.zrange(f"bull:{queue.name}:completed", 0, -1))
    again = {job for job, count in starts.items() if count > 1}
    stalled = set()
    rest = iter(again)
    while page := list(islice(rest, _PAGE)):
        calls = redis.pipeline(transaction=False)
        for job in page:
            calls.hget(f"bull:{queue.name}:{job}", "stc")
        # "0": the lock was lost within milliseconds of the start, before Redis knew of the start (see prefetch).
        stalled |= {job for job, count in zip(page, calls.execute(), strict=True) if count is not None}
    assert again == stalled, "a job ran again whose lock nobody lost"
    return again
