"""lua/legacy/cleanup.lua: the keys of a queue of Bull that has nothing left to run."""

import pytest

SCRIPT = "legacy/cleanup"


@pytest.fixture
def finished(client, queue):
    """Put finished jobs, as Bull 3 (sorted) or Bull 1 keeps them."""

    def put(count, kind="sorted"):
        for id in range(count):
            client.hset(f"bull:{queue}:{id}", "data", "{}")
            client.rpush(f"bull:{queue}:{id}:logs", "row")
            if kind == "sorted":
                client.zadd(f"bull:{queue}:completed", {id: id})
            else:
                client.sadd(f"bull:{queue}:failed", id)
        client.set(f"bull:{queue}:id", count)
        client.set(f"bull:{queue}:meta-paused", 1)

    return put


@pytest.mark.parametrize("kind", ["sorted", "set"])
def test_finished_jobs_go_in_parts_and_then_all_keys(run, queue, dump, finished, kind):
    finished(5, kind)
    assert run(SCRIPT, queue, 3) == [6, 1]
    assert "id" in dump(queue)
    deleted, more = run(SCRIPT, queue, 3)
    assert (more, dump(queue)) == (0, {})
    assert deleted == 6


@pytest.mark.parametrize("place", ["wait", "delayed", "repeat", "active", "ext:claim"])
def test_nothing_is_deleted_while_something_is_left(run, queue, dump, finished, client, place):
    finished(2)
    key = f"bull:{queue}:{place}"
    if place == "ext:claim":
        client.hset(key, "9", "claim")
    elif place in ("wait", "active"):
        client.lpush(key, "9")
    else:
        client.zadd(key, {"9": 5})
    before = dump(queue)
    assert run(SCRIPT, queue, 3) == place
    assert dump(queue) == before
