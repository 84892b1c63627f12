"""Finished jobs per minute, and the numbers for Prometheus."""

from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from bullrush import Queue, Worker, _core, errors

MINUTE = 60_000
NOON = 1_800_000_000_000


@pytest.fixture
def clock() -> Iterator[Callable[[int], None]]:
    """Set the clock of this process."""
    yield _core.stop_clock
    _core.stop_clock(None)


@pytest.fixture
def finish(queue: Queue, worker: Callable[..., Worker]) -> Callable[..., None]:
    """Run some jobs, with a worker that keeps metrics."""

    def fail(job: object) -> None:
        raise ValueError("no")

    def run(count: int, *, failing: bool = False) -> None:
        queue.add_bulk([{"name": "n"} for _ in range(count)])
        worker(fail if failing else lambda job: None, metrics={"max_data_points": 5}).run(until="drained")

    return run


def test_nothing_is_counted_without_the_option(queue: Queue, worker: Callable[..., Worker]) -> None:
    queue.add("n")
    worker(lambda job: None).run(until="drained")
    assert queue.get_metrics("completed") == {
        "meta": {"count": 0, "prev_ts": 0, "prev_count": 0}, "data": [], "count": 0,
    }  # fmt: skip


def test_the_series_has_a_point_per_minute_that_is_over(
    queue: Queue, finish: Callable[..., None], clock: Callable[[int], None]
) -> None:
    """The example of protocol section 6: 3 jobs, one a minute later, one three minutes after that."""
    for moment, jobs in ((NOON, 3), (NOON + MINUTE, 1), (NOON + 4 * MINUTE, 1)):
        clock(moment)
        finish(jobs)
    metrics = queue.get_metrics("completed")
    assert metrics["data"] == [0, 0, 1, 3]
    assert metrics["count"] == 4
    assert metrics["meta"] == {"count": 5, "prev_ts": NOON + 4 * MINUTE, "prev_count": 4}
    assert queue.get_metrics("completed", 2, 2)["data"] == [1]
    assert queue.get_metrics("completed", 0, 1) == {**metrics, "data": [0, 0]}
    assert queue.get_metrics("failed")["data"] == []


def test_failures_have_a_series_of_their_own(queue: Queue, finish: Callable[..., None]) -> None:
    finish(2, failing=True)
    assert (queue.get_metrics("failed")["meta"]["count"], queue.get_metrics("completed")["meta"]["count"]) == (2, 0)
    with pytest.raises(errors.InvalidOptionError, match="type"):
        queue.get_metrics("done")  # type: ignore[arg-type]


def test_prometheus_gets_the_jobs_by_state(queue: Queue) -> None:
    queue.add("n")
    assert queue.export_prometheus_metrics().splitlines() == [
        "# HELP bullmq_job_count Number of jobs in the queue by state",
        "# TYPE bullmq_job_count gauge",
        *(
            f'bullmq_job_count{{queue="{queue.name}", state="{state}"}} {int(state == "waiting")}'
            for state in (
                "active", "completed", "delayed", "failed", "paused", "prioritized", "waiting", "waiting-children",
            )
        ),
    ]  # fmt: skip


def test_prometheus_gets_totals_when_workers_keep_metrics(queue: Queue, finish: Callable[..., None]) -> None:
    finish(3)
    assert queue.export_prometheus_metrics().splitlines()[-6:] == [
        "# HELP bullmq_job_completed_total Total number of completed jobs",
        "# TYPE bullmq_job_completed_total counter",
        f'bullmq_job_completed_total{{queue="{queue.name}"}} 3',
        "# HELP bullmq_job_failed_total Total number of failed jobs",
        "# TYPE bullmq_job_failed_total counter",
        f'bullmq_job_failed_total{{queue="{queue.name}"}} 0',
    ]


def test_labels_are_escaped_as_prometheus_reads_them(redis_url: str, queue_name: str, redis: Redis) -> None:
    with Queue(f'{queue_name}"\\', url=redis_url) as queue:
        text = queue.export_prometheus_metrics({"env": 'te"st\\\n', "n": 5})
    line = text.splitlines()[2]
    escaped = queue_name + r"\"\\"
    assert line == rf'bullmq_job_count{{queue="{escaped}", state="active", env="te\"st\\\n", n="5"}} 0'


@pytest.mark.parametrize("name", ["a-b", "1st", "", "state", "queue"])
def test_labels_that_prometheus_would_refuse_are_refused_here(queue: Queue, name: str) -> None:
    with pytest.raises(errors.InvalidOptionError, match="label"):
        queue.export_prometheus_metrics({name: "x"})
