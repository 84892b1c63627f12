"""An embedded server never outlives its owner and its supervisor, whatever ends them."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from redis import Redis

from bullrush.embedded import EmbeddedRedis
from tests.waiting import wait_until

from .server_processes import finish, owner, runs, socket_of, started

pytestmark = pytest.mark.faults


def test_no_server_outlives_an_owner_that_was_killed() -> None:
    process = owner()
    pid, _, url = started(process)
    process.kill()
    finish(process)
    wait_until(lambda: not runs(pid))
    wait_until(lambda: not socket_of(url).parent.exists())


def test_no_server_outlives_its_owner_although_a_forked_child_lives_on() -> None:
    process = owner("child = os.fork()\nprint(child, flush=True) if child else None\nsignal.pause()")
    pid, _, _ = started(process)
    assert process.stdout
    child = int(process.stdout.readline())
    process.kill()
    finish(process)
    try:
        wait_until(lambda: not runs(pid))
        assert runs(child)
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_killed_supervisor_ends_its_server_and_the_owner_exits_normally() -> None:
    process = owner()
    pid, watcher, url = started(process)
    os.kill(watcher, signal.SIGKILL)
    wait_until(lambda: not runs(pid))
    finish(process)
    assert process.returncode == 0
    assert not socket_of(url).parent.exists()


@pytest.mark.parametrize("order", ["owner first", "supervisor first"])
def test_no_server_outlives_owner_and_supervisor_killed_together(order: str) -> None:
    process = owner()
    pid, watcher, _ = started(process)
    kills: list[Callable[[], None]] = [process.kill, lambda: os.kill(watcher, signal.SIGKILL)]
    for kill in kills if order == "owner first" else reversed(kills):
        kill()
    finish(process)
    wait_until(lambda: not runs(pid))


def test_a_server_outlives_the_thread_that_started_it() -> None:
    made: list[EmbeddedRedis] = []
    thread = threading.Thread(target=lambda: made.append(EmbeddedRedis()))
    thread.start()
    thread.join()
    with made[0] as server, Redis.from_url(server.url) as redis:
        assert redis.ping()


GUARDED = """
from bullrush.embedded import supervisor
supervisor._signal_on_death = lambda: None  # like a system without this feature
supervisor.supervise({scratch!r}, "", ["sleep", "60"])
"""


@pytest.mark.parametrize("ended", ["supervisor", "server"])
def test_where_the_kernel_does_not_end_the_server_a_second_process_does(tmp_path: Path, ended: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", GUARDED.format(scratch=str(tmp_path))], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as watcher:
        assert watcher.stdout
        server = int(watcher.stdout.readline())
        children = Path(f"/proc/{watcher.pid}/task/{watcher.pid}/children").read_text().split()
        os.kill(watcher.pid if ended == "supervisor" else server, signal.SIGKILL)
        wait_until(lambda: not any(runs(int(pid)) for pid in (watcher.pid, *children)))
