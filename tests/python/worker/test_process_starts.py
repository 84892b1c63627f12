"""Processes of `isolation="process"` while they start: for further slots, and when a job gets lost meanwhile."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker, errors
from tests.waiting import wait_until

from . import gated_handlers


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file that keeps new processes from starting while it exists."""
    gate = tmp_path / "gate"
    monkeypatch.setenv(gated_handlers.GATE, str(gate))
    return gate


@pytest.fixture
def starting(queue: Queue, redis_url: str, gate: Path) -> Iterator[Callable[..., tuple[Worker, Job, list[Any]]]]:
    """Make a worker that has taken a job, and whose process has to start again for it. Opens the gate at the end."""
    workers: list[Worker] = []

    def start(**options: Any) -> tuple[Worker, Job, list[Any]]:
        options = {"isolation": "process", "autorun": True, **options}
        worker = Worker(queue.name, gated_handlers.run, url=redis_url, **options)
        workers.append(worker)
        reported: list[Any] = []
        worker.on("active", lambda job: reported.append(("active", job.id)))
        worker.on("error", lambda error: reported.append(("error", str(error))))
        pid = queue.add("first").wait_until_finished(timeout=60_000)
        gate.touch()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: pid not in {child.pid for child in multiprocessing.active_children()}, "the process is gone")
        job = queue.add("second")
        wait_until(lambda: ("active", job.id) in reported, "the job was taken")
        return worker, job, reported

    yield start
    gate.unlink(missing_ok=True)
    for worker in workers:
        worker.close(force=True)


def ended(redis: Redis, queue: Queue, job: Job) -> list[str]:
    entries = redis.xrange(queue.to_key("events"))
    of_job = [fields["event"] for _, fields in entries if fields.get("jobId") == job.id]
    return [event for event in of_job if event in {"completed", "failed"}]


def test_more_slots_get_processes_of_their_own(queue: Queue, redis_url: str, tmp_path: Path) -> None:
    """Three jobs that wait for each other need three processes."""
    with Worker(queue.name, gated_handlers.meet, url=redis_url, isolation="process", autorun=True) as worker:
        alone = {"folder": str(tmp_path), "count": 0}
        queue.add("alone", alone).wait_until_finished(timeout=60_000)
        for slots in (2, 4):
            worker.concurrency = slots
            folder = tmp_path / f"{slots}"
            folder.mkdir()
            together = {"folder": str(folder), "count": slots}
            jobs = queue.add_bulk([{"name": "together", "data": together}] * slots)
            assert len({job.wait_until_finished(timeout=60_000) for job in jobs}) == slots


def test_slots_that_are_added_while_the_run_begins_get_processes(
    queue: Queue, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(queue.name, gated_handlers.meet, url=redis_url, isolation="process", timeout=20_000)
    make = worker._new_runner
    growing = threading.Thread(target=setattr, args=(worker, "concurrency", 2))

    def make_and_grow(core: Any) -> Any:
        runner = make(core)
        growing.start()
        growing.join(0.2)  # it may have to wait until the run has begun
        return runner

    monkeypatch.setattr(worker, "_new_runner", make_and_grow)
    queue.add_bulk([{"name": "together", "data": {"folder": str(tmp_path), "count": 2}}] * 2)
    stats = worker.run(until="drained")
    growing.join()
    assert (stats.completed, stats.failed) == (2, 0)


def test_a_slot_whose_process_cannot_start_leaves_its_jobs_to_the_others(
    queue: Queue, redis_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The worker works on, with the slots it has; a slot more works as soon as its process starts."""
    monkeypatch.setenv(gated_handlers.DOOM, str(doom := tmp_path / "doom"))
    with Worker(queue.name, gated_handlers.run, url=redis_url, isolation="process", autorun=True) as worker:
        reported: list[str] = []
        worker.on("error", lambda error: reported.append(str(error)))
        pid = queue.add("first").wait_until_finished(timeout=60_000)
        doom.touch()
        worker.concurrency = 2
        wait_until(lambda: reported, "the second slot could not start")
        jobs = queue.add_bulk([{"name": "n"}] * 5)
        assert {job.wait_until_finished(timeout=60_000) for job in jobs} == {pid}
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: pid not in {child.pid for child in multiprocessing.active_children()}, "the process is gone")
        job = queue.add("by nobody yet")
        wait_until(lambda: len(reported) > 3, "no slot can start")
        assert job.get_state() in {"waiting", "active"}
        doom.unlink()
        assert job.wait_until_finished(timeout=60_000) != pid
        assert queue.get_failed_count() == 0
    assert "ended before it was ready" in reported[0] and "next try in 1 s" in reported[0]


@pytest.mark.parametrize("how", [{}, {"timeout": 1_000}, {"force": True}], ids=["close", "timeout", "force"])
@pytest.mark.parametrize("first", [True, False], ids=["at_the_start", "when_it_grows"])
def test_a_worker_whose_processes_hang_while_they_start_can_be_closed(
    queue: Queue, redis_url: str, gate: Path, how: Any, first: bool
) -> None:
    before, threads = set(multiprocessing.active_children()), set(threading.enumerate())
    if first:
        gate.touch()
    worker = Worker(queue.name, gated_handlers.run, url=redis_url, isolation="process", concurrency=2, autorun=True)
    if first:
        wait_until(lambda: len(set(multiprocessing.active_children()) - before) == 2, "both start")
    else:
        queue.add("first").wait_until_finished(timeout=60_000)
        gate.touch()
        worker.concurrency = 4
        wait_until(lambda: len(set(multiprocessing.active_children()) - before) == 4, "two more start")
    worker.close(**how)
    wait_until(lambda: set(multiprocessing.active_children()) <= before, "all processes have ended")
    wait_until(lambda: set(threading.enumerate()) <= threads, "and all threads")


def test_jobs_of_slots_whose_processes_cannot_start_go_to_another_worker(
    queue: Queue, redis_url: str, gate: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    doom = tmp_path / "doom"
    monkeypatch.setenv(gated_handlers.DOOM, str(doom))
    options: Any = {"isolation": "process", "concurrency": 2, "autorun": True}
    with Worker(queue.name, gated_handlers.run, url=redis_url, name="out", **options) as worker:
        errors: list[BaseException] = []
        worker.on("error", errors.append)
        queue.add("first").wait_until_finished(timeout=60_000)
        doom.touch()
        for child in multiprocessing.active_children():
            child.kill()
        jobs = queue.add_bulk([{"name": "n"}] * 4)
        wait_until(lambda: len(errors) >= 2, "both slots are out")
        with Worker(queue.name, lambda job: "other", url=redis_url, autorun=True):
            assert [job.wait_until_finished(timeout=20_000) for job in jobs] == ["other"] * 4
        late = queue.add("late")
        doom.unlink()
        assert isinstance(late.wait_until_finished(timeout=60_000), int)
        assert worker.is_running()


def test_jobs_go_to_other_workers_while_the_first_processes_start(queue: Queue, redis_url: str, gate: Path) -> None:
    gate.touch()
    options: Any = {"isolation": "process", "concurrency": 2, "prefetch": 4, "autorun": True}
    with Worker(queue.name, gated_handlers.run, url=redis_url, **options):
        wait_until(lambda: len(multiprocessing.active_children()) == 2, "both start")
        jobs = queue.add_bulk([{"name": "n"}] * 20)
        with Worker(queue.name, lambda job: "other", url=redis_url, autorun=True) as other:
            assert [job.wait_until_finished(timeout=20_000) for job in jobs] == ["other"] * 20
            other.pause()
            gate.unlink()
            assert isinstance(queue.add("late").wait_until_finished(timeout=60_000), int)


def test_a_job_goes_to_another_worker_while_the_process_of_a_further_slot_starts(
    queue: Queue, redis_url: str, gate: Path, tmp_path: Path
) -> None:
    """Two jobs that wait for each other: one in the process that runs, and one that has to run elsewhere."""
    (folder := tmp_path / "together").mkdir()
    together = {"name": "together", "data": {"folder": str(folder), "count": 2}}
    with Worker(queue.name, gated_handlers.meet, url=redis_url, isolation="process", autorun=True) as worker:
        here = queue.add(**together)
        wait_until(lambda: list(folder.iterdir()), "it runs")
        gate.touch()
        worker.concurrency = 2
        there = queue.add(**together)
        with Worker(queue.name, gated_handlers.meet, url=redis_url, autorun=True):
            assert there.wait_until_finished(timeout=60_000) == os.getpid() != here.wait_until_finished(timeout=60_000)
        gate.unlink()


@pytest.mark.parametrize("slots", [1, 2])
def test_a_process_that_the_system_kills_in_its_first_start_is_started_again(
    queue: Queue, redis_url: str, gate: Path, slots: int
) -> None:
    gate.touch()
    options: Any = {"isolation": "process", "concurrency": slots, "autorun": True}
    with Worker(queue.name, gated_handlers.run, url=redis_url, **options) as worker:
        errors: list[BaseException] = []
        worker.on("error", errors.append)
        wait_until(lambda: len(multiprocessing.active_children()) == slots, "all start")
        first, *_ = multiprocessing.active_children()
        os.kill(first.pid or 0, signal.SIGKILL)
        wait_until(lambda: not first.is_alive(), "one is dead")
        gate.unlink()
        wait_until(lambda: len(multiprocessing.active_children()) == slots, "it is replaced")
        assert len({job.wait_until_finished(timeout=60_000) for job in queue.add_bulk([{"name": "n"}] * 20)}) <= slots
        assert (worker.is_running(), errors) == (True, [])


def test_a_job_that_a_process_did_not_take_before_it_died_runs_in_the_next_one(queue: Queue, redis_url: str) -> None:
    """The system may kill an idle process just when its job comes. It is stopped here, so that it cannot take it."""
    with Worker(queue.name, gated_handlers.run, url=redis_url, isolation="process", autorun=True) as worker:
        pid = queue.add("first").wait_until_finished(timeout=60_000)
        os.kill(pid, signal.SIGSTOP)
        taken = threading.Event()
        worker.on("active", lambda job: taken.set())
        job = queue.add("second")
        assert taken.wait(60)
        os.kill(pid, signal.SIGKILL)
        assert job.wait_until_finished(timeout=60_000) != pid
    stored = queue.get_job(job.id)
    assert stored is not None and stored.attempts_started == 1


def test_a_job_that_is_cancelled_while_its_process_starts_does_not_run(
    queue: Queue, redis: Redis, starting: Callable, gate: Path
) -> None:
    worker, job, _ = starting()
    assert worker.cancel_job(job.id, "not any more")
    gate.unlink()
    with pytest.raises(errors.JobFailedError, match="not any more"):
        job.wait_until_finished(timeout=60_000)
    assert queue.get_job_logs(job.id)["logs"] == []
    assert ended(redis, queue, job) == ["failed"]
    assert queue.add("third").wait_until_finished(timeout=60_000) > 0, "the slot works on"


def test_a_job_that_another_worker_takes_while_the_process_starts_is_settled_once(
    queue: Queue, redis: Redis, redis_url: str, starting: Callable, gate: Path
) -> None:
    """It does not run here, and only the outcome of the other worker counts."""
    _, job, reported = starting(lock_duration=2_000)
    redis.set(queue.to_key(f"{job.id}:lock"), "another worker", px=60_000)
    wait_until(lambda: any("could not renew lock" in text for _, text in reported), "the lock is lost")
    gate.unlink()
    assert queue.add("third").wait_until_finished(timeout=60_000) > 0, "the slot works on"
    assert (queue.get_job_logs(job.id)["logs"], ended(redis, queue, job)) == ([], [])
    with Worker(queue.name, url=redis_url):
        taken = queue.get_job(job.id)
        assert taken is not None
        taken.move_to_completed("theirs", "another worker", fetch_next=False)
    assert job.wait_until_finished() == "theirs"
    assert ended(redis, queue, job) == ["completed"]


def test_a_job_that_times_out_while_its_process_starts_frees_the_slot(
    queue: Queue, redis: Redis, starting: Callable, gate: Path
) -> None:
    _, job, _ = starting(timeout=300)
    with pytest.raises(errors.JobFailedError, match="timed out"):
        job.wait_until_finished(timeout=60_000)
    gate.unlink()
    assert queue.add("third").wait_until_finished(timeout=60_000) > 0
    assert queue.get_job_logs(job.id)["logs"] == []
    assert ended(redis, queue, job) == ["failed"]
