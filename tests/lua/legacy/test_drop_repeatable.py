"""lua/legacy/drop_repeatable.lua: a repeatable that is a job scheduler elsewhere goes with its pending job."""

import pytest

SCRIPT = "legacy/drop_repeatable"
NEXT = 1795225366409
KEY = "mail::::0 * * * *"
OPTS = '{"repeat":{"cron":"0 * * * *"}}'
PENDING = f"repeat:0123abcd:{NEXT}"


@pytest.fixture
def repeatable(client, queue):
    base = f"bull:{queue}:"
    client.zadd(f"{base}repeat", {KEY: NEXT})
    client.hset(base + PENDING, mapping={"name": "mail", "opts": OPTS})
    client.zadd(f"{base}delayed", {PENDING: NEXT * 4096})


def test_nothing_is_left_of_it(run, queue, dump, repeatable):
    assert run(SCRIPT, queue, KEY, NEXT, "delayed", PENDING, OPTS) == 1
    assert dump(queue) == {}
    assert run(SCRIPT, queue, KEY, NEXT, "delayed", PENDING, OPTS) == 0


def test_what_has_changed_is_left_alone(run, queue, dump, repeatable):
    before = dump(queue)
    for place, next, opts in [("wait", NEXT, OPTS), ("delayed", NEXT + 1, OPTS), ("delayed", NEXT, "{}")]:
        assert run(SCRIPT, queue, KEY, next, place, PENDING, opts) == 0
    assert dump(queue) == before


def test_a_repeatable_without_a_pending_job_goes_too(run, queue, dump, client):
    client.zadd(f"bull:{queue}:repeat", {KEY: NEXT})
    assert run(SCRIPT, queue, KEY, NEXT, "delayed", "", "") == 1
    assert dump(queue) == {}
