"""BR301: what embedded servers that were killed leave behind."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bullrush.doctor import Doctor, Finding
from bullrush.embedded import EmbeddedRedis
from tests.python.embedded.server_processes import finish, owner, started
from tests.waiting import wait_until


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files of this test alone, also for the processes that it starts.

    Its path is short enough for the path of a socket.
    """
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr("tempfile.tempdir", folder)
        yield Path(folder)


@pytest.fixture
def doctor(redis_url: str) -> Doctor:
    return Doctor(redis_url, machine=True)


def of_machine(doctor: Doctor) -> list[Finding]:
    return [finding for finding in doctor.examine(["none"]).findings if finding.code == "BR301"]


def test_the_directory_of_a_server_that_was_killed_with_its_owner_is_deleted(folder: Path, doctor: Doctor) -> None:
    process = owner()
    server, supervisor, _ = started(process)
    [scratch] = folder.glob("bullrush-*")
    assert of_machine(doctor) == []
    for pid in (supervisor, server, process.pid):
        os.kill(pid, signal.SIGKILL)
    finish(process)
    [finding] = wait_until(lambda: of_machine(doctor))
    assert finding.ids == (str(scratch),)
    with EmbeddedRedis() as running:
        assert doctor.repair(finding) is None
        assert not scratch.exists() and running.alive
        assert of_machine(doctor) == []


def test_a_server_that_its_owner_may_start_again_is_left_alone(folder: Path, doctor: Doctor) -> None:
    with EmbeddedRedis() as server:
        server.kill()
        assert of_machine(doctor) == []
        server.restart()


def test_this_machine_is_looked_at_only_on_request(folder: Path, doctor: Doctor, redis_url: str) -> None:
    process = owner()
    pids = started(process)[:2]
    for pid in (*pids, process.pid):
        os.kill(pid, signal.SIGKILL)
    finish(process)
    assert wait_until(lambda: of_machine(doctor))
    assert of_machine(Doctor(redis_url)) == []
