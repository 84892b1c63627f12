"""Each error code of the table in docs/refusals.md: what a call does about it.

What workers do is in `test_refused_workers`. The errors come from a server between us and Redis; what real servers
refuse, and when, is in `test_refusals_of_redis`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from bullrush import Queue, errors
from bullrush.embedded import EmbeddedRedis

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


def test_the_page_has_every_class_and_every_follower():
    assert {kind for _, kind, _ in TABLE} == {"reload", "reconnect and retry", "wait and retry", "fatal"}
    assert {followed for _, _, followed in TABLE} == {"every call", "workers", "nobody"}


def test_a_code_that_nobody_knows_is_reported_to_the_caller(refusing, behind):
    with Queue("work", url=refusing.url) as queue:
        queue.add("first")
        refusing.refuse("add_jobs", "EPIC nobody has heard of this", times=1)
        with pytest.raises(errors.RedisServerError, match="EPIC"):
            queue.add("second")
