"""A planted password and planted data are in no line at DEBUG, whatever fails: jobs, connections, logins, TLS."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis import Redis

from bullrush import Queue, Worker
from tests.faults.proxy import Proxy

from .conftest import Start
from .test_logs import PASSWORD, PAYLOAD

JOBS = '''
"""A task and handlers that fail in each way."""
from bullrush import Tasks, Worker
from bullrush.errors import DelayedError, RateLimitError, TransientError, UnrecoverableError

def handle(job):
    text = job.data["text"]
    if job.name == "type":
        return 1 + text
    if job.name == "key":
        return job.data["txet"]
    if job.name == "result":
        return {text}                   # no JSON
    if job.name == "surrogate":
        return text + "\\ud800"         # no UTF-8
    if job.name == "last":
        raise UnrecoverableError("for good")
    if job.name == "soon":
        raise TransientError("not now", delay=1)

NAMES = ["type", "key", "result", "surrogate", "last", "soon", "well"]
blocking = Worker(QUEUE, {name: handle for name in NAMES}, lock_duration=1_000, stalled_interval=300)

tasks = Tasks(QUEUE + "-tasks")

@tasks.task
def count(number: int) -> int:
    return number
'''
#: One of them has no handler.
NAMES = ["type", "key", "result", "surrogate", "last", "soon", "well", "unknown"]


@pytest.fixture
def proxy(redis_url: str) -> Iterator[Proxy]:
    with Proxy(urlsplit(redis_url).port or 0) as proxy:
        yield proxy


@pytest.fixture
def login(redis: Redis, proxy: Proxy) -> str:
    """Return the URL of a user with a password, through the proxy."""
    allowed = {"commands": ["+@all"], "keys": ["*"], "channels": ["*"]}
    redis.acl_setuser("hidden", enabled=True, passwords=[f"+{PASSWORD}"], **allowed)
    return proxy.url.replace("redis://", f"redis://hidden:{PASSWORD}@")


@pytest.fixture
def failing(queue: Queue, redis: Redis, redis_url: str, folder: Path) -> Queue:
    """Return a queue with a job that fails in each way: data that are no JSON or do not fit, a stall..."""
    (folder / "jobs.py").write_text(JOBS.replace("QUEUE", repr(queue.name)))
    with Worker(queue.name, None, url=redis_url, lock_duration=300) as dying:
        queue.add("well", {"text": PAYLOAD})
        assert dying.get_next_job("token") is not None
    for name in NAMES:
        queue.add(name, {"text": PAYLOAD}, attempts=2, backoff=1)
    broken = queue.add("well", {"text": PAYLOAD})
    redis.hset(queue.to_key(broken.id), "data", f'{{"text": "{PAYLOAD}')
    tasks = Queue(f"{queue.name}-tasks", url=redis_url)
    tasks.add_bulk(
        [{"name": "count", "data": data} for data in ({"number": PAYLOAD}, {"nummer": PAYLOAD}, [PAYLOAD], PAYLOAD)]
    )
    return queue


@pytest.mark.parametrize("words", [["--log-json"], ["-p", "2"]], ids=["json", "processes"])
def test_failing_jobs_and_lost_connections_show_no_secret(
    start: Start, failing: Queue, proxy: Proxy, login: str, words: list[str]
) -> None:
    command = start("jobs:blocking", "jobs:tasks", "--log-level", "debug", *words, BULLRUSH_URL=login)
    for printed in (
        "runs again at",
        "attempt 2 failed for good",
        "stalled",
        "No handler",
        "not valid JSON",
        "is not JSON serializable",
    ):
        command.prints(printed)
    command.prints("Task count, job", 4)
    proxy.refuse(True)
    proxy.cut()
    command.prints("cannot reach Redis")
    proxy.refuse(False)
    command.prints("connected to Redis")
    command.terminate()
    assert command.ends() == 0, command.output
    assert PASSWORD not in command.output
    assert PAYLOAD not in command.output
    if "--log-json" in words:
        assert all(json.loads(line)["message"] for line in command.lines)


@pytest.mark.parametrize(
    ("wrong", "printed"),
    [((PASSWORD, f"{PASSWORD}-wrong"), "WRONGPASS"), (("redis://", "rediss://"), "TLS")],
    ids=["password", "tls"],
)
@pytest.mark.parametrize("words", [["--check"], ["--log-json"]], ids=["check", "run"])
def test_a_refused_connection_shows_no_secret(
    start: Start, failing: Queue, login: str, redis_url: str, wrong: tuple[str, str], printed: str, words: list[str]
) -> None:
    url = login.replace(login.partition("@")[2], redis_url.partition("://")[2])  # the proxy knows no TLS
    command = start("jobs:tasks", "--log-level", "debug", *words, BULLRUSH_URL=url.replace(*wrong))
    command.prints(printed)
    if "--check" not in words:
        command.terminate()
    # A wrong password ends the worker: the signal may come when Python is ending, and handles no signals any more (4,
    # or ended by the signal).
    assert command.ends() in {0, 1, 3, 4, -signal.SIGTERM}, command.output
    assert PASSWORD not in command.output and "127.0.0.1" in command.output
