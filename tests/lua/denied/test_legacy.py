"""lua/legacy: with any command denied, a job is added to a queue of Bull or not, and each moved job is in one place."""

import pytest

from tests.lua.denied.scenarios import NOW, Scenario


def nothing(queue):
    pass


@pytest.mark.parametrize("script", ["2", "3"])
@pytest.mark.parametrize(("due", "lifo", "priority"), [(0, 0, 0), (0, 1, 0), (0, 0, 3), (NOW + 5000, 0, 0)])
def test_jobs_are_added(scenarios, script, due, lifo, priority):
    head = ["1"] if script == "2" else []
    name = ["welcome"] if script == "3" else []

    def debounce(id):
        return [f"debounced-{id}", 60_000] if script == "3" else []

    def calls(queue):
        arguments = [*name, "{}", "{}", NOW, 5000 if due else 0, due, *head, lifo, priority]
        return [(f"legacy/add_{script}", *arguments, id, "token", *debounce(id)) for id in ("a", "b", "c")]

    assert scenarios.faults(Scenario(nothing, calls)) == {}


def test_a_failed_job_runs_again(scenarios, client):
    def prepare(queue):
        client.hset(f"bull:{queue}:1", mapping={"timestamp": NOW, "failedReason": "no"})
        client.zadd(f"bull:{queue}:failed", {"1": NOW})

    faults = scenarios.faults(Scenario(prepare, lambda queue: [("legacy/retry", "1", 0, "4", NOW, "token")]))
    assert {command: fault for command, fault in faults.items() if "replies [-3" not in fault} == {}


CLAIM = ("1", "c1")
FIELDS = ("name", "welcome", "data", "{}", "opts", "{}", "timestamp", NOW, "delay", 0, "priority", 0)


@pytest.mark.parametrize(
    ("place", "score"), [("wait", ""), ("prioritized", 3), ("delayed", NOW * 4096), ("failed", NOW)]
)
def test_claimed_jobs_are_received(scenarios, place, score):
    def calls(queue):
        return [
            ("legacy/receive_job", NOW, f"old c{id} {id}", id, "", place, score, "", "", 1, "row", *FIELDS)
            for id in "12"
        ]

    faults = scenarios.faults(Scenario(nothing, calls))
    # After a call that failed at its events the job is there, and its tombstone, too: the next call adds nothing.
    assert set(faults.values()) <= {"replies [0, 0] instead of ['1', '2']"}


def test_a_claimed_job_is_given_back(scenarios, client):
    def prepare(queue):
        client.rpush(f"bull:{queue}:wait", "2", "1")
        client.zadd(f"bull:{queue}:priority", {"1": 3})
        for id in "12":
            client.hset(f"bull:{queue}:{id}", mapping={"timestamp": NOW})

    def calls(queue):
        return [("legacy/claim_job", "wait", *CLAIM, 30_000), ("legacy/return_job", *CLAIM)]

    faults = scenarios.faults(Scenario(prepare, calls))
    # It may stand in ext:claim still, for the next run, but never at two places.
    assert [fault for fault in faults.values() if "'1': ['wait', 'wait']" in fault] == []
