"""What handlers leave behind does not keep the process: threads that are no daemons, slow functions of atexit."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bullrush import Queue
from tests.waiting import wait_until

from .conftest import Start
from .health import page

#: Handlers that leave something, each after it has printed what the process should still do.
LEAVING = """
import atexit, threading, time
def call_at_exit():
    print("called at exit", flush=True)
def thread(job):
    atexit.register(call_at_exit)
    threading.Thread(target=time.sleep, args=(60,), name="left-alone").start()
def function(job):
    atexit.register(time.sleep, 60)
def nothing(job):
    pass
def both(job):
    thread(job)
    function(job)
def pool(job):
    from concurrent.futures import ThreadPoolExecutor
    global kept
    kept = ThreadPoolExecutor()
    kept.submit(int).result()
def no_more_threads(job):
    start = threading.Thread.start
    def refused(self):
        if threading._SHUTTING_DOWN:
            raise RuntimeError("can't create new thread at interpreter shutdown")
        start(self)
    threading.Thread.start = refused
    thread(job)
async def asyncio_thread(job):
    import asyncio
    atexit.register(call_at_exit)
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 60)
"""


@pytest.fixture(autouse=True)
def leaving(folder: Path) -> None:
    (folder / "leaving.py").write_text(LEAVING)


def test_a_thread_that_a_handler_left_is_named_and_does_not_keep_the_process(start: Start, queue: Queue) -> None:
    queue.add("n")
    command = start("leaving:thread", "-Q", queue.name, "--burst", "--shutdown-timeout", "1")
    assert command.ends() == 0, command.output
    assert command.output.count("threads that are not daemons still run: left-alone; the process ends in 0.5 s") == 1
    assert command.output.count("called at exit") == 1, command.output


def test_a_python_that_starts_no_thread_when_it_ends_ends_in_time_and_without_a_traceback(
    start: Start, queue: Queue
) -> None:
    """As 3.12.1."""
    queue.add("n")
    command = start("leaving:no_more_threads", "-Q", queue.name, "--burst", "--shutdown-timeout", "1")
    assert command.ends() == 0, command.output
    assert "Traceback" not in command.output
    assert command.output.count("left-alone; the process ends in 0.5 s") == 1
    assert command.output.count("called at exit") == 1, command.output


def test_a_call_that_a_handler_left_in_a_thread_of_asyncio_does_not_keep_the_process(
    start: Start, queue: Queue
) -> None:
    queue.add("n")
    command = start("leaving:asyncio_thread", "-Q", queue.name, "--burst", "--shutdown-timeout", "1")
    assert command.ends() == 0, command.output
    assert command.output.count("threads that are not daemons still run: asyncio_0; the process ends in") == 1
    assert command.output.count("called at exit") == 1, command.output


@pytest.mark.parametrize(
    ("handler", "printed"),
    [("thread", "left-alone"), ("function", "a function of atexit still runs"), ("both", "left-alone")],
)
def test_the_shutdown_timeout_ends_a_process_without_jobs_with_code_0(
    start: Start, queue: Queue, handler: str, printed: str
) -> None:
    queue.add("n")
    command = start(f"leaving:{handler}", "-Q", queue.name, "--shutdown-timeout", "1.5")
    wait_until(lambda: queue.get_completed_count() == 1)
    command.terminate()
    began = time.monotonic()
    assert command.ends() == 0, command.output
    assert time.monotonic() - began < 10
    assert command.output.count(printed) == 1, command.output
    assert command.output.count("called at exit") == (handler == "thread"), command.output


def test_a_shutdown_timeout_that_passes_while_no_job_runs_ends_with_code_0(start: Start, queue: Queue) -> None:
    queue.add("n")
    command = start("leaving:nothing", "-Q", queue.name, "--shutdown-timeout", "0")
    wait_until(lambda: queue.get_completed_count() == 1)
    wait_until(lambda: [client["cmd"] for client in queue.get_workers()] == ["bzpopmin"], "it waits for jobs")
    command.terminate()
    assert command.ends() == 0, command.output


def test_a_pool_of_idle_threads_ends_without_a_word(start: Start, queue: Queue) -> None:
    queue.add("n")
    command = start("leaving:pool", "-Q", queue.name, "--burst")
    assert command.ends() == 0, command.output
    assert "the workers have stopped" not in command.output


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_second_signal_after_the_last_job_ends_with_code_0_and_no_jobs_are_said_to_be_left(
    start: Start, queue: Queue, processes: str
) -> None:
    queue.add("n")
    command = start("leaving:thread", "-Q", queue.name, "-p", processes, "--health-port", "127.0.0.1:0")
    wait_until(lambda: queue.get_completed_count() == 1)
    assert page(command, "/healthz")[0] == 200
    command.terminate()
    command.prints("left-alone; the process ends in 4.5 s")
    code, found = page(command, "/healthz")
    assert code == 200
    assert ["stopped"] in [worker["problems"] for process in found["processes"] for worker in process or ()]
    command.terminate()
    assert command.ends() == 0, command.output
    assert not [word for word in ("Traceback", "ERROR", "unfinished") if word in command.output], command.output
