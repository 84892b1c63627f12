"""A Redis user who can be denied a command, and the runner of scenarios about it."""

import pytest
import redis

from tests.lua.denied.scenarios import ScenarioRunner


@pytest.fixture
def scenarios(client, redis_url, run, runner, new_queue, dump):
    """A runner of scenarios; its user exists for this test."""
    address = redis_url.replace("redis://", "redis://limited:limited@")
    with redis.Redis.from_url(address, decode_responses=True, encoding_errors="surrogateescape") as limited:
        yield ScenarioRunner(client, run, runner(limited), new_queue, dump)
    client.execute_command("ACL", "DELUSER", "limited")
