"""A user of Redis who may be denied a command, and the teller of stories about it."""

import pytest
import redis

from tests.lua.denied.stories import Teller


@pytest.fixture
def teller(client, redis_url, run, runner, new_queue, dump):
    """A teller of stories; its user exists for this test."""
    address = redis_url.replace("redis://", "redis://limited:limited@")
    with redis.Redis.from_url(address, decode_responses=True, encoding_errors="surrogateescape") as limited:
        yield Teller(client, run, runner(limited), new_queue, dump)
    client.execute_command("ACL", "DELUSER", "limited")
