"""bull-board over queues of bullrush: what it shows, and what its buttons change in the queue."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bullrush import FlowProducer, Job, Queue, Worker, _core
from tests.waiting import wait_until

from .browser import BullBoard

DAY = 86_400_000


def counts(queue: Queue, **expected: int) -> Callable[[], bool]:
    """Return a check that this many jobs are in these states."""
    return lambda: queue.get_job_counts(*expected).items() >= expected.items()


def render(job: Job) -> dict[str, int]:
    """Do what video jobs do, and fail the broken ones."""
    job.log("opened the file")
    job.update_progress(40)
    job.log("half way")
    if job.name.startswith("broken"):
        raise ValueError("codec not found")
    return {"frames": 7_200}


@pytest.fixture
def work(queue: Queue) -> Callable[[], Any]:
    """Run all jobs that can be fetched now."""

    def run() -> Any:
        with Worker(queue.name, render, url=queue.opts["url"]) as worker:
            return worker.run(until="empty")

    return run


@pytest.fixture
def busy(queue: Queue) -> Iterator[None]:
    """Run a worker that holds its first job until the test ends."""
    held = threading.Event()
    queue.add("active-job")
    with Worker(queue.name, lambda job: held.wait(30), url=queue.opts["url"], autorun=True, prefetch=0):
        wait_until(lambda: queue.get_job_counts("active")["active"])
        yield
        held.set()


def test_jobs_of_every_state_are_shown(board: BullBoard, queue: Queue, work: Callable[[], Any], request: Any) -> None:
    queue.add_bulk([{"name": "completed-job"}, {"name": "broken-job"}])
    work()
    request.getfixturevalue("busy")
    queue.add_bulk(
        [
            {"name": "waiting-job"},
            {"name": "delayed-job", "opts": {"delay": DAY}},
            {"name": "prioritized-job", "opts": {"priority": 1}},
        ]
    )
    for status in ("completed", "active", "waiting", "delayed", "prioritized"):
        board.open_jobs(queue.name, status)
        board.see(f"{status}-job")
    board.open_jobs(queue.name, "failed")
    board.see("broken-job")
    queue.pause()
    board.open_jobs(queue.name, "paused")
    board.see("waiting-job")


def test_data_error_log_and_progress_of_a_job_are_shown(
    board: BullBoard, queue: Queue, work: Callable[[], Any]
) -> None:
    queue.add("broken", {"videoId": "film-7"})
    work()
    board.open_jobs(queue.name, "failed")
    board.see("ValueError:", "codec not found", "40%")
    board.click("Data")
    board.see("film-7")
    board.click("Logs")
    board.see("opened the file", "half way")


def test_a_flow_is_shown_as_a_tree(open_board: Callable[..., BullBoard], queue: Queue) -> None:
    children: Any = [
        {"name": f"track {number}", "queue_name": f"{queue.name}-tracks", "data": {}, "opts": {"job_id": f"t{number}"}}
        for number in (1, 2)
    ]
    with FlowProducer(url=queue.opts["url"]) as producer:
        album = producer.add({"name": "album", "queue_name": queue.name, "opts": {"job_id": "a"}, "children": children})
    board = open_board(queue.name, f"{queue.name}-tracks")
    board.open_jobs(queue.name, "waiting-children")
    board.see("album")
    board.open(f"/queue/{queue.name}/{album.job.id}?status=waiting-children")
    board.see("Job flow", "track 1", "track 2", "2 unfinished")


def test_a_job_scheduler_is_shown(board: BullBoard, queue: Queue) -> None:
    queue.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *", "tz": "Europe/Paris"}, {"name": "report"})
    board.open(f"/job-schedulers?queueName={queue.name}")
    board.see("nightly", "report", "0 3 * * *", "Europe/Paris")


def test_a_failed_job_is_retried_by_a_click(board: BullBoard, queue: Queue, work: Callable[[], Any]) -> None:
    job = queue.add("broken")
    work()
    board.open_jobs(queue.name, "failed")
    board.see("broken")
    board.click_action(1)
    board.confirm()
    wait_until(lambda: job.get_state() == "waiting")
    assert work().failed == 1
    read = queue.get_job(job.id)
    assert read is not None
    assert (read.attempts_made, read.attempts_started, len(read.stacktrace)) == (2, 2, 2)


def test_all_failed_jobs_are_retried_by_a_click(board: BullBoard, queue: Queue, work: Callable[[], Any]) -> None:
    queue.add_bulk([{"name": "broken"}] * 3)
    work()
    board.open_jobs(queue.name, "failed")
    board.click("Retry all")
    board.confirm()
    wait_until(counts(queue, waiting=3, failed=0))
    assert work().failed == 3


def test_all_failed_jobs_are_removed_by_a_click(board: BullBoard, queue: Queue, work: Callable[[], Any]) -> None:
    _core.stop_clock(_core.now_ms() - DAY)  # bull-board keeps the jobs of the last seconds
    try:
        jobs = queue.add_bulk([{"name": "broken"}, {"name": "fine"}])
        work()
    finally:
        _core.stop_clock(None)
    board.open_jobs(queue.name, "failed")
    board.click("Clean all")
    board.confirm()
    wait_until(counts(queue, completed=1, failed=0))
    assert [queue.get_job(job.id) is None for job in jobs] == [True, False]


def test_a_delayed_job_is_promoted_by_a_click(board: BullBoard, queue: Queue, work: Callable[[], Any]) -> None:
    job = queue.add("later", delay=DAY)
    board.open_jobs(queue.name, "delayed")
    board.see("later")
    board.click_action(1)
    board.confirm()
    wait_until(lambda: job.get_state() == "waiting")
    assert work().completed == 1


def test_all_delayed_jobs_are_promoted_by_a_click(board: BullBoard, queue: Queue, work: Callable[[], Any]) -> None:
    queue.add_bulk([{"name": "later", "opts": {"delay": DAY}}] * 3)
    board.open_jobs(queue.name, "delayed")
    board.click("Promote all")
    board.confirm()
    wait_until(counts(queue, waiting=3, delayed=0))
    assert work().completed == 3


def test_a_queue_is_paused_and_resumed_by_clicks(board: BullBoard, queue: Queue, work: Callable[[], Any]) -> None:
    queue.add("work")
    board.open_jobs(queue.name, "waiting")
    board.open_menu()
    board.click("Pause")
    board.confirm()
    wait_until(queue.is_paused)
    assert work().completed == 0
    board.open_jobs(queue.name, "paused")
    board.see("work")
    board.open_menu()
    board.click("Resume")
    board.confirm()
    wait_until(lambda: not queue.is_paused())
    assert work().completed == 1


def test_a_worker_of_ours_is_listed(board: BullBoard, queue: Queue) -> None:
    queue.add("later", delay=DAY)
    with Worker(queue.name, render, url=queue.opts["url"], autorun=True):
        wait_until(lambda: queue.get_workers_count() == 1)
        board.open_jobs(queue.name, "delayed")
        board.see("later")
        assert "No workers" not in board.text()
