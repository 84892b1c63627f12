"""Jobs and events of real BullMQ 5.62.0 and of bullrush are what the published JSON schemas say, after every step."""

from typing import Any

import pytest

from tests.schemas import problems

MINUTE = 60_000

#: Every option that a job can have.
OPTIONS: list[dict[str, Any]] = [
    {"attempts": 5, "backoff": 1000},
    {"attempts": 2, "backoff": {"type": "exponential", "delay": 1000, "jitter": 0.5}},
    {"backoff": {"type": "own"}},
    {"delay": 5000, "priority": 7},
    {"priority": 2_097_152},
    {"lifo": True},
    {"jobId": "order-17"},
    {"timestamp": 1_700_000_000_000},
    {"removeOnComplete": True, "removeOnFail": False},
    {"removeOnComplete": 100, "removeOnFail": {"age": 3600, "count": 5}},
    {"keepLogs": 3, "stackTraceLimit": 0, "sizeLimit": 1000},
    {"deduplication": {"id": "d", "ttl": 5000, "extend": True, "replace": True}},
    {"debounce": {"id": "e"}},
    {"telemetry": {"metadata": "{}", "omitContext": True}},
]


@pytest.fixture
def pair(manual_pair: Any) -> Any:
    """Compare the states as usual, and look at every job and every event of both sides after each step."""
    compare, checked = manual_pair._compare, set()

    def check() -> None:
        for client in manual_pair.clients:
            for key in client.scan_iter(f"*:{manual_pair.queue}*", count=10_000):
                if key.endswith(":events"):
                    found = [("event.json", fields) for _, fields in client.xrange(key)]
                elif client.type(key) == "hash" and "opts" in (fields := client.hgetall(key)) and "ic" not in fields:
                    found = [("job.json", fields)]
                else:
                    found = []
                for schema, value in found:
                    if (seen := f"{schema} {sorted(value.items())}") not in checked:
                        assert problems(schema, value) == [], f"{key}: {value}"
                        checked.add(seen)

    def compare_and_check(*results: Any) -> None:
        compare(*results)
        check()

    manual_pair._compare = compare_and_check
    yield manual_pair
    assert len(checked) > 5


def events(pair: Any) -> set[str]:
    stream = pair.clients[0].xrange(f"{pair.base()}events")
    return {fields["event"] for _, fields in stream}


def test_every_option(pair):
    for options in OPTIONS:
        pair.add("work", {"n": 1}, **options)
    pair.add("none")
    pair.add_bulk([{"name": "work", "data": None, "opts": options} for options in OPTIONS])
    assert {"duplicated", "deduplicated", "debounced"} <= events(pair)


def test_a_repeatable_job_of_older_versions(pair):
    for repeat in {"every": 10_000, "key": "mine"}, {"pattern": "0 * * * * *", "tz": "UTC", "limit": 3}:
        pair.foreign_add("old", {"n": 1}, repeat=repeat, removeOnComplete=True)
    assert "delayed" in events(pair)


def test_the_life_of_a_job(pair):
    pair.add("work", {"n": 1}, attempts=3, backoff=1000)
    pair.add("other", "text", priority=3)
    pair.add("later", [1], delay=MINUTE)
    pair.fetch("t:1", name="worker one")
    pair.update_progress("1", {"percent": 50})
    pair.log("1", "half way")
    pair.fail("1", "boom", "t:1")
    pair.tick(1001)
    pair.fetch("t:2")
    pair.stalled()
    for key in ("1:lock", "stalled-check"):
        pair.expire(key)
    pair.stalled(maxStalledCount=0)
    pair.fetch("t:3")
    pair.fail("1", "job stalled more than allowable limit", "t:3", unrecoverable=True)
    pair.retry("1")
    pair.fetch("t:4")
    pair.complete("1", {"done": True}, "t:4")
    pair.fetch("t:5")
    pair.fail("2", "boom", "t:5")
    pair.promote("3")
    pair.pause()
    pair.resume()
    pair.fetch("t:6")
    pair.complete("3", None, "t:6")
    pair.remove("2")
    pair.tick(MINUTE)
    pair.clean(0, 10)
    told = {
        "stalled",
        "failed",
        "completed",
        "retries-exhausted",
        "progress",
        "removed",
        "cleaned",
        "paused",
        "drained",
    }
    assert told <= events(pair)


def test_moves_by_handlers(pair):
    pair.add("work", {"n": 1})
    pair.fetch("t:1")
    pair.move_to_delayed("1", MINUTE, "t:1")
    pair.change_delay("1", 5)
    pair.tick(10)
    pair.fetch("t:2")
    pair.move_to_wait("1", "t:2")
    pair.add("child", {}, parent={"id": "1", "queue": "@"}, jobId="c:h:d")
    pair.change_priority("c:h:d", 7)
    pair.update_data("c:h:d", [None])
    pair.fetch("t:3")
    pair.move_to_waiting_children("1", "t:3")
    pair.fetch("t:4")
    pair.complete("c:h:d", "text", "t:4")
    assert {"waiting-children", "delayed", "active"} <= events(pair)


@pytest.mark.parametrize(
    "policy",
    [
        "failParentOnFailure",
        "continueParentOnFailure",
        "ignoreDependencyOnFailure",
        "removeDependencyOnFailure",
    ],
)
def test_flows(pair, policy):
    child = {"name": "cut", "queueName": "@", "opts": {"jobId": "c:u:t", policy: True}}
    other = {"name": "mix", "queueName": "@", "data": {"n": 2}, "opts": {"jobId": "m:i:x", "attempts": 2}}
    pair.add_flow({"name": "film", "queueName": "@", "opts": {"jobId": "f:i:lm"}, "children": [child, other]})
    pair.fetch("t:1")
    pair.fail("c:u:t", "boom", "t:1")
    pair.fetch("t:2")
    pair.complete("m:i:x", {"n": 2}, "t:2")
    parent = pair.fetch("t:3")
    pair.fail(parent, "child failed", "t:3") if parent else None
    assert "waiting-children" in events(pair)


@pytest.mark.parametrize(
    "repeat",
    [
        {"every": 10_000},
        {"every": 10_000, "limit": 5, "startDate": 1_800_000_010_000, "endDate": 1_900_000_000_000},
        {"pattern": "0 */5 * * * *", "tz": "Europe/Berlin", "limit": 5},
        {"pattern": "0 */5 * * * *", "immediately": True, "tz": "UTC"},
    ],
    ids=str,
)
def test_job_schedulers(pair, repeat):
    template = {
        "name": "tick",
        "data": {"n": 1},
        "opts": {"attempts": 2, "backoff": 500, "removeOnComplete": {"age": 5}},
    }
    pair.foreign_upsert_scheduler("nightly", repeat, template)
    for turn in range(2):
        pair.tick(10 * MINUTE)
        id = pair.fetch(f"t:{turn}")
        pair.complete(id, None, f"t:{turn}")
    assert "completed" in events(pair)
