"""Fixtures: the command in a folder of its own, with the module ``jobs`` in it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from bullrush import Queue
from tests.waiting import wait_until

JOBS = '''
"""Handlers and workers of the tests."""
import asyncio, logging, os, time
from bullrush import Tasks, Worker, aio

def say(what):
    print(f"begun {what}\\n", end="", flush=True)  # one write, so that no line of the log comes between

def held(job):
    return "until" in job.data and not os.path.exists(job.data["until"])

def handle(job):
    logging.getLogger("app").info("handling")
    say(job.id)
    time.sleep(job.data.get("seconds", 0))
    while held(job):
        time.sleep(0.01)
    return job.data

async def handle_async(job):
    say(job.id)
    await asyncio.sleep(job.data.get("seconds", 0))
    while held(job):
        await asyncio.sleep(0.01)

blocking = Worker(QUEUE, handle, lock_duration=1_000, stalled_interval=300)
awaited = aio.Worker(QUEUE, handle_async)
several = [blocking]
number = 7
nobody = {}
handlers = {"sync": handle, "async": handle_async}

tasks = Tasks(QUEUE)

@tasks.task
def greet(name: str) -> str:
    say(name)
    return f"hello {name}"

@tasks.task
async def agreet(name: str) -> str:
    return f"hello {name}"
'''


class Command:
    """A running command, and what it has printed."""

    def __init__(self, words: tuple[str, ...], folder: Path, environment: dict[str, str]) -> None:
        command = [sys.executable, "-m", "bullrush", "worker", *words]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", **environment}
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.lines.append(line)

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def prints(self, text: str, times: int = 1) -> None:
        wait_until(lambda: self.output.count(text) >= times or self.process.poll() is not None, text)
        assert self.output.count(text) >= times, self.output

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def ends(self) -> int:
        """Return the exit code."""
        code = self.process.wait(30)
        self._reader.join(20)
        return code

    def kill(self) -> None:
        """End the command and all its processes: one that ran on would hold its output open."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in psutil.Process(self.process.pid).children(recursive=True):
                process.kill()
        self.process.kill()
        self.process.wait(20)
        self._reader.join(20)


Start = Callable[..., Command]


@pytest.fixture
def folder(tmp_path: Path, queue_name: str) -> Path:
    (tmp_path / "jobs.py").write_text(JOBS.replace("QUEUE", repr(queue_name)))
    return tmp_path


@pytest.fixture
def start(folder: Path, redis_url: str) -> Iterator[Start]:
    started: list[Command] = []

    def start(*words: str, **environment: str) -> Command:
        started.append(Command(words, folder, {"BULLRUSH_URL": redis_url, **environment}))
        return started[-1]

    yield start
    for command in started:
        command.kill()


@pytest.fixture
def queue(queue_name: str, redis_url: str) -> Queue:
    return Queue(queue_name, url=redis_url)
