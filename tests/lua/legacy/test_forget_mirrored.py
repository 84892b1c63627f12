"""lua/legacy/forget_mirrored.lua: the end of a job is mirrored, and its own rules about keeping it hold."""

import pytest

SCRIPT = "legacy/forget_mirrored"
NOW = 1795225366409


@pytest.fixture
def finished(client, queue):
    at = f"bull:{queue}:"
    for n in range(1, 4):
        client.hset(f"{at}{n}", "data", "{}")
        client.zadd(at + "completed", {str(n): NOW - 10_000 + n})
    client.hset(at + "ext:mirror", "3", "{}")
    return at


@pytest.mark.parametrize(
    ("count", "age", "left"), [("", "", {"1", "2", "3"}), (0, "", {"1", "2"}), (2, "", {"2", "3"}), ("", 5, set())]
)
def test_the_rule_of_the_job_holds_now(run, client, queue, finished, count, age, left):
    assert run(SCRIPT, queue, NOW, "3", "completed", count, age) == 1
    assert set(client.zrange(finished + "completed", 0, -1)) == left
    assert {id for id in "123" if client.exists(finished + id)} == left
    assert not client.exists(finished + "ext:mirror")
    assert run(SCRIPT, queue, NOW, "3", "completed", count, age) == 0


def test_a_job_that_is_gone_is_forgotten(run, client, queue, finished):
    assert run(SCRIPT, queue, NOW, "3", "", "", "") == 1
    assert client.zcard(finished + "completed") == 3
