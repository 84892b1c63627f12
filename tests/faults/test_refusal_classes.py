"""Each error code of the table in docs/refusals.md: what a call and a worker do about it.

The errors come from a server between us and Redis; what real servers refuse, and when, is in `test_refusals_of_redis`.
"""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from bullrush import Queue, Worker, errors
from bullrush.embedded import EmbeddedRedis
from tests.waiting import wait_until

from .refusing_server import RefusingServer

PAGE = (Path(__file__).parents[2] / "docs/refusals.md").read_text()
#: Code, class, and who goes on by itself.
TABLE: list[tuple[str, str, str]] = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def refusing() -> Iterator[RefusingServer]:
    with (
        EmbeddedRedis(port=0, password="") as redis,
        RefusingServer(int(redis.url.rsplit(":", 1)[1].split("/")[0])) as server,
    ):
        yield server


@pytest.fixture
def behind(refusing: RefusingServer) -> Iterator["Redis[str]"]:
    """Return a client of the Redis behind the server that refuses."""
    with Redis(port=refusing.redis_port, decode_responses=True) as client:
        yield client
        client.flushall()


@pytest.mark.parametrize(("code", "kind", "followed"), TABLE, ids=[row[0] for row in TABLE])
def test_a_call_goes_on_or_raises_the_error(code, kind, followed, refusing, behind):
    with Queue("work", url=refusing.url, timeout=20_000) as queue:
        queue.add("first")
        before, begin = refusing.accepted, len(refusing.seen)
        refusing.refuse("add_jobs", f"{code} refused by a test", times=2)
        if followed == "every call":
            assert queue.add("second").id == "2"
            assert refusing.left == 0
        else:
            with pytest.raises(errors.RedisServerError, match=f"^{code} refused by a test$") as caught:
                queue.add("second")
            assert caught.value.code == code
            assert refusing.left == 1
            refusing.refuse("", "", times=0)
        # What was refused was not executed, and was not sent again behind the back of the caller.
        assert behind.llen("bull:work:wait") == (2 if followed == "every call" else 1)
        assert ("SCRIPT LOAD" in refusing.seen[begin:]) == (kind == "reload")
        reconnects = kind == "reconnect and retry" and followed == "every call"
        assert (refusing.accepted > before) == reconnects


@pytest.mark.parametrize(("code", "kind", "followed"), TABLE, ids=[row[0] for row in TABLE])
def test_a_worker_keeps_an_outcome_that_redis_may_take_later(code, kind, followed, refusing, behind, caplog):
    gate, ran = threading.Event(), []

    def handler(job):
        ran.append(job.id)
        gate.wait(20)

    with Queue("work", url=refusing.url) as queue:
        queue.add("first")
    is_given_up = followed == "nobody"
    times = {"lock_duration": 400, "stalled_interval": 100, "max_stalled_count": 9} if is_given_up else {}
    worker = Worker("work", handler, url=refusing.url, **times)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: ran, "the job runs")
        refusing.refuse("move_to_finished", f"{code} refused by a test", times=1)
        gate.set()
        wait_until(lambda: behind.zcard("bull:work:completed") == 1, "the job is done")
    finally:
        gate.set()
        refusing.refuse("", "", times=0)
        worker.close()
        working.join()
    # Only an outcome that the worker gave up lets its job run again.
    assert len(ran) == (2 if is_given_up else 1)
    if followed != "every call":
        assert f"{code} refused by a test" in caplog.text


def test_the_page_has_every_class_and_every_follower():
    assert {kind for _, kind, _ in TABLE} == {"reload", "reconnect and retry", "wait and retry", "fatal"}
    assert {followed for _, _, followed in TABLE} == {"every call", "workers", "nobody"}


def test_a_code_that_nobody_knows_is_reported_to_the_caller(refusing, behind):
    with Queue("work", url=refusing.url) as queue:
        queue.add("first")
        refusing.refuse("add_jobs", "EPIC nobody has heard of this", times=1)
        with pytest.raises(errors.RedisServerError, match="EPIC"):
            queue.add("second")
