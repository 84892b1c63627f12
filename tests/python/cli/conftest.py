"""The command line in this process, and in a real terminal."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pexpect
import pytest

from bullrush import Queue, Worker, cli


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def _server(monkeypatch: pytest.MonkeyPatch, redis_url: str) -> None:
    monkeypatch.setenv("BULLRUSH_URL", redis_url)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Return a function that runs a command in this process."""

    def call(*words: object) -> Ended:
        capsys.readouterr()
        try:
            code = cli.main([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
        return Ended(code, *capsys.readouterr())

    return call


@pytest.fixture
def queue(queue_name: str, redis_url: str) -> Iterator[Queue]:
    with Queue(queue_name, url=redis_url) as queue:
        yield queue


@pytest.fixture
def worked(queue: Queue, redis_url: str) -> Queue:
    """Return a queue with a completed job 1 with a log, a failed job 2, a waiting job 3 and a delayed job 4."""

    def handle(job: Any) -> Any:
        if job.name == "broken":
            raise ValueError("no such user")
        job.log("first")
        job.log("second")
        return {"sent": True}

    queue.add("welcome", {"user": "Ada"})
    queue.add("broken", {"user": "Eve"})
    with Worker(queue.name, handle, url=redis_url) as worker:
        worker.run(until="empty")
    queue.add("digest", {"user": "Ada"})
    queue.add("later", {"user": "Bob"}, delay=3_600_000)
    return queue


class Terminal(pexpect.spawn):
    """A command in a real terminal of 160 columns."""

    def __init__(self, *words: object, program: Sequence[str] = ("-m", "bullrush"), echo: bool = True) -> None:
        super().__init__(
            sys.executable,
            [*program, *map(str, words)],
            env={**os.environ, "TERM": "xterm", "COLUMNS": "160", "NO_COLOR": "1"},
            encoding="utf-8",
            timeout=20,
            dimensions=(50, 160),
            echo=echo,
        )

    def sees(self, text: str) -> str:
        """Wait until this text is on the screen, and return what was before it."""
        self.expect_exact(text)
        return str(self.before)

    def ended(self) -> tuple[int, str]:
        """Wait for the end, and return the exit code and the rest of the screen without control sequences."""
        self.expect(pexpect.EOF)
        self.close()
        assert self.exitstatus is not None, f"ended by signal {self.signalstatus}"
        return self.exitstatus, plain(str(self.before))


def plain(screen: str) -> str:
    """Return what a terminal shows without control sequences."""
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", screen).replace("\r", "")


#: Runs one command after the other.
SHELL = """
import shlex
from bullrush.cli import main
while True:
    words = shlex.split(input())
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    print("exit code", code)
"""


@pytest.fixture
def shell() -> Iterator[Callable[[str], tuple[int, str]]]:
    """Return a function that types a command into a terminal and returns its exit code and what it showed."""
    opened = Terminal(program=("-c", SHELL), echo=False)

    def call(words: str) -> tuple[int, str]:
        opened.sendline(words)
        opened.expect(r"exit code (\d)\r\n")
        return int(opened.match.group(1)), plain(opened.before)

    yield call
    opened.close(force=True)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(*words: object) -> Terminal:
        opened.append(Terminal(*words))
        return opened[-1]

    yield start
    for one in opened:
        one.close(force=True)
