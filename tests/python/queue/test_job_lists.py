"""Counts and lists of jobs by state, and logs."""

from collections.abc import Callable

import pytest

from bullrush import Queue, Worker, errors


@pytest.fixture
def filled(queue: Queue, worker: Callable[..., Worker]) -> Queue:
    """Return a queue with two jobs in each of some states."""

    def run(job: object) -> None:
        if getattr(job, "name", "") == "bad":
            raise ValueError("no")

    queue.add_bulk([{"name": name, "opts": {"job_id": f"{name}{i}"}} for name in ("good", "bad") for i in (1, 2)])
    worker(run).run(until="drained")
    queue.add_bulk(
        [{"name": "wait", "opts": {"job_id": f"w{i}"}} for i in (1, 2)]
        + [{"name": "late", "opts": {"job_id": f"d{i}", "delay": i * 100_000}} for i in (1, 2)]
        + [{"name": "first", "opts": {"job_id": f"p{i}", "priority": i}} for i in (1, 2)]
    )
    return queue


def test_counts_by_state(filled: Queue) -> None:
    assert filled.get_job_counts() == {
        "active": 0, "completed": 2, "delayed": 2, "failed": 2, "paused": 0, "prioritized": 2, "waiting": 2,
        "waiting-children": 0,
    }  # fmt: skip
    assert filled.get_job_counts("failed", "wait") == {"failed": 2, "wait": 2}
    assert filled.count() == 6
    assert filled.get_job_count_by_types("completed", "failed") == 4
    assert [
        filled.get_waiting_count(), filled.get_active_count(), filled.get_delayed_count(),
        filled.get_prioritized_count(),
        filled.get_waiting_children_count(), filled.get_completed_count(), filled.get_failed_count(),
    ] == [2, 0, 2, 2, 0, 2, 2]  # fmt: skip


def test_jobs_by_state_come_in_bullmqs_order(filled: Queue) -> None:
    def ids(jobs: list) -> list[str]:
        return [job.id for job in jobs]

    assert ids(filled.get_waiting()) == ["w1", "w2"]
    assert ids(filled.get_delayed()) == ["d1", "d2"]
    assert ids(filled.get_prioritized()) == ["p1", "p2"]
    assert ids(filled.get_completed()) == ["good2", "good1"]
    assert ids(filled.get_failed(0, 0)) == ["bad2"]
    assert filled.get_active() == filled.get_waiting_children() == []
    assert ids(filled.get_jobs(["waiting", "failed"], asc=True)) == ["w1", "w2", "bad1", "bad2"]
    assert filled.get_ranges("delayed", 0, 0, asc=True) == ["d1"]
    assert len(filled.get_jobs()) == 10


def test_a_misspelt_state_is_refused(queue: Queue) -> None:
    with pytest.raises(errors.InvalidOptionError, match="Did you mean 'failed'"):
        queue.get_job_counts("fialed")


def test_a_paused_queue_counts_its_jobs_as_waiting(queue: Queue) -> None:
    queue.pause()
    queue.add("n")
    assert queue.get_waiting_count() == 1
    assert queue.get_job_counts("waiting") == {"waiting": 0, "paused": 1}
    assert [job.name for job in queue.get_waiting()] == ["n"]


def test_logs_are_read_from_either_end(queue: Queue) -> None:
    job = queue.add("n")
    assert [queue.add_job_log(job.id, f"row {i}") for i in range(3)] == [1, 2, 3]
    assert queue.get_job_logs(job.id) == {"logs": ["row 0", "row 1", "row 2"], "count": 3}
    assert queue.get_job_logs(job.id, 0, 0, asc=False) == {"logs": ["row 2"], "count": 3}
    assert queue.add_job_log(job.id, "row 3", keep_logs=2) == 2
    with pytest.raises(errors.JobNotFoundError, match=r"Missing key for job none. addLog"):
        queue.add_job_log("none", "row")
