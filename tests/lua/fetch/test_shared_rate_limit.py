"""A second key: the rate limit of another queue counts, for a fetch and for a fetch that rides on a finish call."""

import pytest

from tests.lua.conftest import NOW, Fetched

FIRST = [NOW, "t", 30_000]
RULES = {"fetch/move_to_active": [], "route/scan_jobs": [100, "{}"]}


@pytest.fixture
def base(new_queue):
    """The queue whose rate limit counts."""
    return new_queue("base")


@pytest.fixture
def fetch_of(run_both):
    """`fetch_of(script, queue, base, count)`: a fetch under the rate limit of `base`."""

    def fetched(script, queue, base, count, limit=("", "")):
        return Fetched.of(run_both(script, queue, base, *FIRST, *limit, "", count, count, "", 0, *RULES[script])[:5])

    return fetched


@pytest.mark.parametrize("script", RULES)
def test_fetches_count_for_the_limit_of_the_other_queue(add, fetch, fetch_of, client, queue, base, script):
    for name in (queue, base):
        add(name, *"abcd")
    limit = (3, 5000)
    assert list(fetch(base, 1, limit=limit).jobs) == ["1"]
    taken = fetch_of(script, queue, base, 4, limit)
    assert list(taken.jobs) == ["1", "2"]
    assert 0 < taken.limit_ttl <= 5000
    assert fetch_of(script, queue, base, 4, limit).jobs == fetch(base, 4, limit=limit).jobs == {}
    assert client.get(f"bull:{base}:limiter") == "3"
    assert not client.exists(f"bull:{queue}:limiter")


@pytest.mark.parametrize("script", RULES)
def test_of_the_global_limits_only_that_of_the_other_queue_counts(add, fetch_of, client, queue, base, script):
    add(queue, *"abcdef")
    client.hset(f"bull:{queue}:meta", mapping={"max": 1, "duration": 1000})
    unlimited = fetch_of(script, queue, base, 2)
    assert list(unlimited.jobs) == ["1", "2"]
    assert not client.exists(f"bull:{base}:limiter")
    assert len(fetch_of(script, queue, base, 1, (2, 5000)).jobs) == 1  # the limit of the caller still counts
    assert client.pttl(f"bull:{base}:limiter") > 1000
    client.hset(f"bull:{base}:meta", mapping={"max": 3, "duration": 60_000})
    theirs = fetch_of(script, queue, base, 4)
    assert list(theirs.jobs) == ["4", "5"]
    assert theirs.limit_ttl > 0


def test_a_paused_other_queue_does_not_pause_the_queue(add, fetch_of, client, queue, base):
    add(queue, "a")
    client.hset(f"bull:{base}:meta", mapping={"paused": 1, "concurrency": 1})
    client.rpush(f"bull:{base}:active", "x")
    assert list(fetch_of("fetch/move_to_active", queue, base, 4).jobs) == ["1"]


def test_a_finish_call_fetches_under_the_limit_of_the_other_queue(add, fetch, run_both, client, queue, base):
    add(queue, *"abcd")
    fetch(queue)
    head = [NOW, 0, 3, "t", 30_000, 2, 5000, "", 3, "", 0, ""]
    run = [1, "completed", "t", -1, "", "", "", "", "1", "done"]
    _, *fetched = run_both("finish/move_to_finished", queue, base, *head, *run)
    taken = Fetched.of(fetched)
    assert list(taken.jobs) == ["2", "3"]
    assert taken.limit_ttl > 0
    assert client.get(f"bull:{base}:limiter") == "2"
    assert not client.exists(f"bull:{queue}:limiter")
