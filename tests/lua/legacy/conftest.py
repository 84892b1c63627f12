"""Scripts that touch two queues."""

import pytest

from tests.lua.source import flatten


@pytest.fixture
def run_both(client):
    """`run_both("legacy/move_job", queue, other, *args)`: runs a script on `bull:<queue>:` and `bull:<other>:`."""

    def call(script, queue, other, *args):
        sha = client.script_load(flatten(script))
        return client.evalsha(sha, 2, f"bull:{queue}:meta", f"bull:{other}:meta", *args)

    return call
