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

    def calls(queue):
        arguments = [*name, "{}", "{}", NOW, 5000 if due else 0, due, *head, lifo, priority]
        return [(f"legacy/add_{script}", *arguments, job_id, "token") for job_id in ("a", "b", "c")]

    assert scenarios.faults(Scenario(nothing, calls)) == {}


def test_a_failed_job_runs_again(scenarios, client):
    def prepare(queue):
        client.hset(f"bull:{queue}:1", mapping={"timestamp": NOW, "failedReason": "no"})
        client.zadd(f"bull:{queue}:failed", {"1": NOW})

    faults = scenarios.faults(Scenario(prepare, lambda queue: [("legacy/retry", "1", 0, "4", NOW, "token")]))
    assert {command: fault for command, fault in faults.items() if "replies [-3" not in fault} == {}
