"""What must be true after every fault."""

from itertools import islice

from pyspark.sql import DataFrame, functions
from redis import Redis

from bullrush import Queue
from tests.driver.ledger import Ledger

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


def check_runs(queue: Queue, redis: Redis, ledger: Ledger, jobs: int, *, claims: bool = True) -> set[str]:
    """Each job ran, nothing is left, and only jobs that lost their lock ran again. Returns the jobs that did.

    Args:
        queue: the queue.
        redis: its server.
        ledger: the starts of the handlers.
        jobs: how many jobs there are.
        claims: the workers claimed jobs ahead (``prefetch``): Redis does not know of starts within the last
            milliseconds before a kill, so it counts these jobs as never started, "0" stalls. Otherwise each job that
            ran again has stalled.
    """
    counts = {state: count for state, count in queue.get_job_counts().items() if count}
    assert counts == {"completed": jobs}
    starts = ledger.runs
    assert starts.keys() == set(redis.zrange(f"bull:{queue.name}:completed", 0, -1))
    again = {job for job, count in starts.items() if count > 1}
    stalled = set()
    rest = iter(again)
    while page := list(islice(rest, _PAGE)):
        calls = redis.pipeline(transaction=False)
        for job in page:
            calls.hget(f"bull:{queue.name}:{job}", "stc")
        least = 0 if claims else 1
        stalled |= {
            job for job, count in zip(page, calls.execute(), strict=True) if count is not None and int(count) >= least
        }
    assert again == stalled, "a job ran again whose lock nobody lost"
    return again
