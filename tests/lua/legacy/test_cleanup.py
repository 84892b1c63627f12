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


def test_bull_may_add_jobs_with_their_debounce_ids_again(run, queue, dump, finished, client):
    finished(3)
    for id in range(3):
        client.hset(f"bull:{queue}:{id}", "deid", f"d{id}")
    client.set(f"bull:{queue}:de:d0", "0")
    client.set(f"bull:{queue}:de:d1", "another")
    client.set(f"bull:{queue}:de:d2", "2", px=100_000)
    run(SCRIPT, queue, 3)
    assert {key for key in dump(queue) if key.startswith("de:")} == {"de:d1", "de:d2"}


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
