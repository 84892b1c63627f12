"""The process runner: handlers in child processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from bullrush import Queue, Worker, errors
from tests.waiting import wait_until

from .process_handlers import DescribedError, UnreachableError, act, act_async, batch, forking, raise_odd

PROGRAM = Path(__file__).with_name("process_main.py")


@pytest.fixture
def worker(redis_url: str, queue_name: str) -> Callable[..., Worker]:
    return lambda handler=None, **options: Worker(queue_name, handler, url=redis_url, isolation="process", **options)


def test_one_process_runs_many_jobs(queue: Queue, worker: Callable) -> None:
    jobs = queue.add_bulk([{"name": "n", "data": "pid"} for _ in range(20)])
    assert worker(act).run(until="drained").completed == 20
    (pid,) = {job.wait_until_finished() for job in jobs}
    assert pid != os.getpid()


def test_a_handler_calls_its_job(queue: Queue, worker: Callable) -> None:
    job = queue.add("n", "calls", job_id="j1")
    busy = worker(act, name="w1")
    progress: list[Any] = []
    busy.on("progress", lambda job, value: progress.append((job.id, value)))
    busy.run(until="drained")
    assert job.wait_until_finished() == ["j1", "n", 1, queue.name, "w1"]
    stored = queue.get_job("j1")
    assert stored is not None and (stored.progress, stored.data) == (50, {"new": {}})
    assert queue.get_job_logs("j1")["logs"] == ["half way"]
    assert progress == [("j1", 50)]


@pytest.mark.parametrize(
    ("death", "reason"),
    [
        ("segfault", "Unexpected exit code: null signal: SIGSEGV"),
        ("killed", "Unexpected exit code: null signal: SIGKILL"),
        ("exit", "Unexpected exit code: 3 signal: null"),
    ],
)
def test_a_crash_fails_one_job_and_the_process_is_replaced(
    queue: Queue, worker: Callable, death: str, reason: str
) -> None:
    crash = queue.add("n", death, attempts=2)
    others = queue.add_bulk([{"name": "n", "data": {"return": n}} for n in range(10)])
    stats = worker(act).run(until="drained")
    assert (stats.completed, stats.failed, stats.retried) == (10, 1, 1)
    stored = queue.get_job(crash.id)
    assert stored is not None and stored.failed_reason == reason
    assert [job.wait_until_finished() for job in others] == list(range(10))


@pytest.mark.parametrize(
    ("end", "reason"), [("killed", "Unexpected exit code: null signal: SIGKILL"), ("hangs", "timed out")]
)
def test_a_dead_process_is_replaced_while_one_lives_that_its_handler_forked(
    queue: Queue, worker: Callable, end: str, reason: str
) -> None:
    crash = queue.add("n", {"fork, then": end})
    other = queue.add("n", {"return": 1})
    begun = time.monotonic()
    try:
        stats = worker(act, timeout=1_000).run(until="drained")
        assert (stats.completed, stats.failed) == (1, 1)
        assert time.monotonic() - begun < 30  # what was forked lives 60 s
        assert reason in queue.get_job(crash.id).failed_reason
        assert other.wait_until_finished() == 1
    finally:
        os.kill(int(queue.get_job_logs(crash.id)["logs"][0]), signal.SIGKILL)


@pytest.mark.parametrize(
    ("data", "reason", "made"),
    [
        ("raise", "boom", 2),
        ("odd", "one", 2),
        ("unrecoverable", "never", 1),
        ("discard", "discarded", 1),
        ("not json", "returnvalue: ", 2),
    ],
)
def test_the_exception_of_a_handler_is_stored_as_the_failed_reason(
    queue: Queue, worker: Callable, data: str, reason: str, made: int
) -> None:
    job = queue.add("n", data, attempts=2)
    worker(act).run(until="drained")
    stored = queue.get_job(job.id)
    assert stored is not None and stored.failed_reason is not None
    assert (stored.failed_reason.startswith(reason), stored.attempts_made) == (True, made)
    if data == "raise":
        assert stored.stacktrace[0].startswith("ValueError: boom")
        assert 'raise ValueError("boom")' in stored.stacktrace[0]


@pytest.mark.parametrize(
    ("data", "kind", "reason"),
    [
        ("own", UnreachableError, "redis:1"),
        ("local", UnreachableError, "redis:1"),
        ("text", DescribedError, "redis and 1"),
        ("library", httpx.HTTPStatusError, "503"),
    ],
)
def test_the_worker_knows_the_class_of_an_exception_that_its_constructor_cannot_make_again(
    queue: Queue, worker: Callable, data: str, kind: type[Exception], reason: str
) -> None:
    job = queue.add("n", data, attempts=2)
    seen: list[BaseException] = []
    worker(raise_odd, classify=seen.append).run(until="drained")
    stored = queue.get_job(job.id)
    assert stored is not None
    assert (stored.failed_reason, stored.attempts_made) == (reason, 2)
    assert all(isinstance(error, kind) for error in seen)
    assert len(seen) == 2
    assert getattr(seen[0], "host", "redis") == "redis"


def test_a_handler_moves_its_job(queue: Queue, worker: Callable) -> None:
    job = queue.add("n", "delay")
    assert worker(act).run(until="drained").completed == 1
    stored = queue.get_job(job.id)
    assert stored is not None and stored.attempts_started == 2


def test_coroutines_run_in_processes_too(queue: Queue, worker: Callable) -> None:
    jobs = queue.add_bulk([{"name": "n", "data": n} for n in range(4)])
    worker(act_async, concurrency=2).run(until="drained")
    results: list[Any] = [job.wait_until_finished() for job in jobs]
    assert [value for value, _ in results] == [0, 1, 2, 3]
    assert os.getpid() not in {pid for _, pid in results}


def test_a_batch_runs_in_one_process(queue: Queue, worker: Callable) -> None:
    jobs = queue.add_bulk([{"name": "n", "data": data} for data in ("good", "bad", "good")])
    stats = worker(batch_handler=batch, batch_size=3).run(until="drained")
    assert (stats.completed, stats.failed) == (2, 1)
    assert jobs[0].wait_until_finished() == jobs[2].wait_until_finished()


def test_a_crash_fails_its_whole_batch(queue: Queue, worker: Callable) -> None:
    queue.add_bulk([{"name": "n", "data": data} for data in ("good", "segfault")])
    assert worker(batch_handler=batch, batch_size=2).run(until="drained").failed == 2


def test_a_fork_of_a_handler_gives_no_results(queue: Queue, worker: Callable) -> None:
    jobs = queue.add_bulk([{"name": "n"}] * 5)
    assert worker(forking).run(until="drained").completed == 5
    assert [queue.get_job(job.id).returnvalue for job in jobs] == [["handler", job.id] for job in jobs]


def test_a_program_without_the_main_guard_gets_an_error_that_says_what_to_do(
    queue: Queue, redis_url: str, tmp_path: Path
) -> None:
    job = queue.add("n")
    program = tmp_path / "program.py"
    program.write_text(
        "from bullrush import Worker\n"
        "def handler(job): return 1\n"
        f"Worker({queue.name!r}, handler, url={redis_url!r}, isolation='process').run(until='empty')\n"
    )
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1
    assert "put all that adds jobs or starts workers under `if __name__ == '__main__':`" in ran.stderr
    assert job.get_state() == "waiting"


def test_a_process_is_killed_at_the_deadline(queue: Queue, worker: Callable) -> None:
    slow, _ = queue.add_bulk([{"name": "n", "data": {"sleep": 60}}, {"name": "n", "data": "pid"}])
    began = time.monotonic()
    stats = worker(act, timeout=300).run(until="drained")
    assert (stats.completed, stats.failed) == (1, 1)
    assert time.monotonic() - began < 30
    with pytest.raises(errors.JobFailedError, match="timed out after 300 ms"):
        slow.wait_until_finished()


def test_a_cancelled_jobs_process_is_killed(queue: Queue, worker: Callable) -> None:
    job = queue.add("n", {"sleep": 60}, attempts=3)
    with worker(act, autorun=True) as running:
        while not running.cancel_job(job.id, "stop"):
            time.sleep(0.3)
        with pytest.raises(errors.JobFailedError, match="stop"):
            job.wait_until_finished(timeout=20_000)


def test_closing_by_force_kills_the_processes(queue: Queue, worker: Callable) -> None:
    job = queue.add("n", {"sleep": 60})
    running = worker(act, autorun=True)
    wait_until(job.is_active)
    began = time.monotonic()
    running.close(force=True)
    assert time.monotonic() - began < 30
    assert job.is_active()


def test_a_handler_that_cannot_be_imported_is_refused(worker: Callable) -> None:
    with pytest.raises(errors.InvalidOptionError, match="define it at the top of a module"):
        worker(lambda job: None)


def test_a_handler_may_be_given_by_its_import_path(queue: Queue, worker: Callable) -> None:
    job = queue.add("n", {"return": 5})
    worker("tests.python.worker.process_handlers:act").run(until="drained")
    assert job.wait_until_finished() == 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_processes_lets_running_jobs_finish(
    queue: Queue, redis_url: str, number: signal.Signals
) -> None:
    job = queue.add("n", {})
    program = subprocess.Popen(
        [sys.executable, str(PROGRAM), queue.name, redis_url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "started\n"
    os.killpg(program.pid, number)
    out, err = program.communicate(timeout=100)
    assert "completed=1" in out and program.returncode == 0, err
    assert err == ""
    assert job.wait_until_finished() == "done"
