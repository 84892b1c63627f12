"""The command line in this process, and in a real terminal."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

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


@pytest.fixture
def shell() -> Iterator[Callable[[str], tuple[int, str]]]:
    """Return a function that types a command into a terminal and returns its exit code and what it showed."""
    from tests.python.cli.terminals import SHELL, Terminal, plain

    opened = Terminal(program=("-c", SHELL), echo=False)

    def call(words: str) -> tuple[int, str]:
        opened.sendline(words)
        opened.expect(r"exit code (\d)\r\n")
        return int(opened.match.group(1)), plain(opened.before)

    yield call
    opened.close(force=True)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Any]]:
    """Return a function that starts a command in a terminal of its own."""
    from tests.python.cli.terminals import Terminal

    opened: list[Terminal] = []

    def start(*words: object, **options: Any) -> Terminal:
        opened.append(Terminal(*words, **options))
        return opened[-1]

    yield start
    for one in opened:
        one.close(force=True)
