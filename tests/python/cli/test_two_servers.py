"""A move between two servers says which of them has refused a call."""

import pytest
from redis import Redis

from bullrush import LegacyQueue, Queue
from bullrush.embedded import EmbeddedRedis
from bullrush.errors import RedisServerError
from bullrush.url import address


@pytest.fixture
def full():
    """The URL of a server whose memory is full."""
    with EmbeddedRedis(port=0) as server, Redis.from_url(server.url) as client:
        client.config_set("maxmemory", "1")
        yield server.url


def fill(old: LegacyQueue) -> None:
    for _ in range(3):
        old.add("welcome", {"user": 7})


@pytest.mark.parametrize("call", [LegacyQueue.migrate, LegacyQueue.bridge])
def test_an_error_names_the_server_of_the_new_queue(call, full, redis_url, queue_name):
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as old:
        fill(old)
        with Queue(queue_name, url=full, skip_metas_update=True) as new, pytest.raises(RedisServerError) as error:
            call(old, new)
    assert (error.value.code, error.value.server) == ("OOM", address(full))
    assert f" (the Redis at {address(full)})" in str(error.value)


def test_an_error_names_the_server_of_bull(full, redis_url, queue_name):
    with Redis.from_url(full) as client:
        client.config_set("maxmemory", "0")
        with LegacyQueue(queue_name, url=full, flavor="4") as old, Queue(queue_name, url=redis_url) as new:
            fill(old)
            client.config_set("maxmemory", "1")
            with pytest.raises(RedisServerError) as error:
                old.migrate(new)
            new.obliterate(force=True)
    assert (error.value.code, error.value.server) == ("OOM", address(full))


def test_the_command_says_how_far_it_was_and_shows_no_password(full, run, redis_url, queue_name):
    words = ("migrate", queue_name, "--from", redis_url, "--to-url", full)
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as old:
        fill(old)
        old.core.legacy_calls("claim_job", [["wait", id, f"1-{id}-run", 30_000] for id in "12"]).wait()
        refused = run(*words)
    told = f"(the Redis at {address(full)}); 0 jobs moved in this run, and 2 jobs are claimed"
    assert refused.code == 3 and refused.err.endswith(f"{told}: run the same command again\n")
    assert full.partition("@")[0].rpartition(":")[2] not in refused.err
