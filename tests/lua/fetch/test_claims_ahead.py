"""lua/fetch/move_to_active.lua: jobs claimed ahead of a free slot; only their place in active shows it."""

import pytest

NOW = 1795225366409
VISIBLE = ("active", "events", "marker", "wait", "prioritized")


def unseen(keys):
    return {name: value for name, value in keys.items() if name not in VISIBLE and not name.endswith(":lock")}


def hold_of(reply):
    return reply[2]


@pytest.mark.parametrize("options", [{}, {"priority": 3}], ids=["plain", "priority"])
@pytest.mark.parametrize("stored", [{}, {"ats": 2, "processedOn": 5, "pb": "old", "atm": 2}], ids=["new", "retried"])
def test_only_jobs_that_start_now_are_stamped(add, fetch, client, queue, dump, options, stored):
    add(queue, "a", "b", "c", **options)
    for job_id in "123" if stored else "":
        client.hset(f"bull:{queue}:{job_id}", mapping=stored)
    before = dump(queue)
    taken = fetch(queue, 3, slots=1, worker="w")
    after = dump(queue)
    assert list(taken.jobs) == ["1", "2", "3"]
    assert (after["1"]["ats"], after["1"]["pb"]) == (str(stored.get("ats", 0) + 1), "w")
    assert (after["2"], after["3"]) == (before["2"], before["3"])
    assert taken.jobs["2"] == before["2"]
    assert after["2:lock"] == after["3:lock"] == "t"
    assert sorted(after["active"]) == ["1", "2", "3"]


def test_the_scores_of_prioritized_jobs_are_returned(add, fetch, client, queue):
    add(queue, "a", "b", priority=2)
    add(queue, "c")
    scores = [score for _, score in client.zrange(f"bull:{queue}:prioritized", 0, -1, withscores=True)]
    reply = fetch(queue, 3, slots=1, raw=True)
    assert list(map(float, reply[4])) == scores


def test_a_job_that_has_stalled_is_not_claimed_ahead_nor_are_the_jobs_behind_it(add, fetch, client, queue, dump):
    add(queue, "a", "b", "c", "d")
    client.hset(f"bull:{queue}:3", "stc", 0)
    assert list(fetch(queue, 4, slots=1).jobs) == ["1", "2"]
    assert dump(queue)["wait"] == ["4", "3"]
    assert list(fetch(queue, 2, slots=1).jobs) == ["3", "4"]
    assert dump(queue)["3"]["ats"] == "1"


@pytest.mark.parametrize("stalls", [1, 2])
def test_a_job_whose_next_stall_would_fail_it_is_fetched_alone(add, fetch, client, queue, dump, stalls):
    add(queue, "a", "b", "c")
    client.hset(f"bull:{queue}:2", "stc", stalls)
    rules = {"slots": 3, "stalled_limit": stalls}
    first = fetch(queue, 3, **rules, raw=True)
    assert hold_of(first) == 2
    assert dump(queue)["active"] == ["1"]
    busy = fetch(queue, 3, **rules, raw=True)
    assert hold_of(busy) == 2
    assert dump(queue)["active"] == ["1"]
    assert list(fetch(queue, 3, **rules, alone=True).jobs) == ["2"]
    assert list(fetch(queue, 3, **rules).jobs) == ["3"]


def test_a_job_that_stalled_less_is_fetched_with_others(add, fetch, client, queue):
    add(queue, "a", "b")
    client.hset(f"bull:{queue}:1", "stc", 1)
    assert list(fetch(queue, 2, stalled_limit=2).jobs) == ["1", "2"]


@pytest.mark.parametrize(
    ("meta", "limit", "taken", "hold"),
    [
        ({"concurrency": 9}, ("", ""), 2, 1),
        ({"max": 9, "duration": 1000}, ("", ""), 2, -9),
        ({}, (8, 1000), 2, -8),
        ({"paused": 1}, ("", ""), 0, 1),
        ({}, ("", ""), 4, 0),
    ],
    ids=["concurrency", "global limit", "own limit", "pause", "free"],
)
def test_no_job_is_claimed_ahead_under_a_limit_and_the_reply_says_the_rate_limit(
    add, fetch, client, queue, meta, limit, taken, hold
):
    add(queue, *"abcd")
    if meta:
        client.hset(f"bull:{queue}:meta", mapping=meta)
    reply = fetch(queue, 4, slots=2, limit=limit, raw=True)
    assert client.llen(f"bull:{queue}:active") == taken
    assert hold_of(reply) == hold


def test_the_priority_counter_stays_as_long_as_prioritized_jobs_are_only_claimed(add, fetch, queue, dump):
    add(queue, "a", "b", priority=1)
    fetch(queue, 5, slots=1)
    assert dump(queue)["pc"] == "2"
    fetch(queue, 5)
    assert "pc" not in dump(queue)
