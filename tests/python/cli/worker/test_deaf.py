"""Processes that do not listen: a handler holds the GIL, a module is never imported, a process is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bullrush import Queue
from tests.waiting import wait_until

from .conftest import Command, Start

#: Holds the GIL, as a regular expression or native code may: no signal handler of Python runs.
GREEDY = """
import ctypes
def handle(job):
    print("begun", flush=True)
    ctypes.PyDLL(None).sleep(60)
"""


@pytest.fixture
def greedy(start: Start, queue: Queue, folder: Path) -> Callable[[str], Command]:
    """Return a function that starts such a worker with a shutdown timeout."""
    (folder / "greedy.py").write_text(GREEDY)

    def start_greedy(shutdown_timeout: str) -> Command:
        queue.add("n")
        command = start("greedy:handle", "-Q", queue.name, "--shutdown-timeout", shutdown_timeout)
        command.prints("begun")
        return command

    return start_greedy


def test_a_second_signal_ends_a_worker_whose_handler_holds_the_gil(
    greedy: Callable[[str], Command], queue: Queue
) -> None:
    command = greedy("60")
    command.terminate()
    command.interrupt()
    assert command.ends() == 4, command.output
    assert queue.get_waiting_count() == 1, "it runs again on another worker"


def test_the_shutdown_timeout_ends_a_worker_whose_handler_holds_the_gil(
    greedy: Callable[[str], Command], queue: Queue
) -> None:
    command = greedy("0.3")
    command.terminate()
    began = time.monotonic()
    assert command.ends() == 4, command.output
    assert time.monotonic() - began >= 0.3
    assert queue.get_waiting_count() == 1, "it runs again on another worker"


def test_a_process_that_is_still_imported_ends_at_once(start: Start, queue: Queue, folder: Path) -> None:
    endless = "import time\nprint('importing', flush=True)\ntime.sleep(60)\n"
    (folder / "endless.py").write_text(endless)
    command = start("endless:handle", "-Q", queue.name, "--reload")
    command.prints("importing")
    (folder / "endless.py").write_text(f"{endless}# changed")
    command.prints("importing", 2)
    command.terminate()
    assert command.ends() == 0, command.output


def test_a_process_that_is_stopped_is_killed_after_the_shutdown_timeout(start: Start, queue: Queue) -> None:
    queue.add_bulk([{"name": "n", "data": {"seconds": 30}}] * 2)
    command = start("jobs:blocking", "-p", "2", "--shutdown-timeout", "0.1")
    wait_until(lambda: queue.get_active_count() == 2, "both run a job")
    psutil.Process(command.process.pid).children()[0].suspend()
    command.terminate()
    assert command.ends() == 4, command.output
    assert command.output.count("was killed by SIGKILL") == 1
