"""lua/manage: with any command denied, each moved job is in one place, and the same call made again moves the rest."""

import pytest

from tests.lua.denied.scenarios import NOW, Scenario


@pytest.fixture
def finished(add, fetch, finish):
    """`finished(target)`: a function that prepares three jobs in that state."""

    def of(target):
        def prepare(queue):
            add(queue, "{}", "{}", "{}")
            fetch(queue, 3, now=NOW - 10)
            jobs = [(job_id, "1", *(["[]", 1] if target == "failed" else [])) for job_id in "123"]
            finish(queue, *jobs, target=target, now=NOW)

        return prepare

    return of


@pytest.fixture
def waiting(add):
    """`waiting(**options)`: a function that prepares three jobs."""
    return lambda **options: lambda queue: add(queue, "{}", "{}", "{}", **options)


STATES = pytest.mark.parametrize("state", ["completed", "failed"])


@STATES
@pytest.mark.parametrize("lifo", [0, 1])
def test_a_finished_job_runs_again(scenarios, finished, state, lifo):
    calls = [("manage/retry", job_id, state, lifo, 1, 1) for job_id in "123"]
    faults = scenarios.faults(Scenario(finished(state), lambda queue: calls))
    assert {command: fault for command, fault in faults.items() if "replies [-3" not in fault} == {}


@STATES
@pytest.mark.parametrize("version", ["bullmq:5.62.0", "bullmq:6.7.0"])
def test_finished_jobs_run_again(scenarios, finished, client, state, version):
    def prepare(queue):
        client.hset(f"bull:{queue}:meta", "version", version)
        finished(state)(queue)

    faults = scenarios.faults(Scenario(prepare, lambda queue: [("manage/retry_jobs", state, 100, NOW + 1)]))
    assert faults == {}


@pytest.mark.parametrize("priority", [0, 3])
def test_delayed_jobs_are_promoted(scenarios, waiting, priority):
    prepare = waiting(delay=5000, priority=priority)
    calls = [("manage/promote", job_id) for job_id in "123"]
    faults = scenarios.faults(Scenario(prepare, lambda queue: calls))
    assert {command: fault for command, fault in faults.items() if "replies [-3" not in fault} == {}
    assert scenarios.faults(Scenario(prepare, lambda queue: [("manage/promote_jobs", 100)])) == {}
    faults = scenarios.faults(Scenario(prepare, lambda queue: [("manage/promote_many", 3, *"123")]))
    assert {command: fault for command, fault in faults.items() if "replies [[1, 2, 3]" not in fault} == {}
    faults = scenarios.faults(Scenario(prepare, lambda queue: [("manage/promote_due", NOW + 6000, 100)]))
    # A call whose events are denied has moved the jobs: the next one finds none.
    assert {command: fault for command, fault in faults.items() if "replies [0]" not in fault} == {}


def test_a_delay_is_changed(scenarios, waiting):
    calls = [("manage/change_delay", NOW, job_id, 9000) for job_id in "123"]
    assert scenarios.faults(Scenario(waiting(delay=5000), lambda queue: calls)) == {}


@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("priority", [0, 5])
@pytest.mark.parametrize("lifo", [0, 1])
def test_a_priority_is_changed(scenarios, waiting, before, priority, lifo):
    calls = [("manage/change_priority", job_id, priority, lifo) for job_id in "123"]
    assert scenarios.faults(Scenario(waiting(priority=before), lambda queue: calls)) == {}


def test_a_queue_is_paused_and_resumed(scenarios, waiting, run, client):
    def paused(queue):
        waiting()(queue)
        run("manage/pause", queue)

    def both(queue):
        paused(queue)
        client.rpush(f"bull:{queue}:wait", "1", "2")
        client.ltrim(f"bull:{queue}:paused", 0, 0)

    for prepare in (waiting(), paused, both):
        for script in ("manage/pause", "manage/resume"):
            assert scenarios.faults(Scenario(prepare, lambda queue, script=script: [(script,)])) == {}, (
                prepare,
                script,
            )


def test_a_child_is_removed_from_its_parent(scenarios, add, client):
    def prepare(queue):
        add(queue, "{}", "{}")
        parent_key, child_key = f"bull:{queue}:1", f"bull:{queue}:2"
        client.lrem(f"bull:{queue}:wait", 1, "1")
        client.zadd(f"bull:{queue}:waiting-children", {"1": NOW})
        client.sadd(f"{parent_key}:dependencies", child_key)
        client.hset(child_key, mapping={"parentKey": parent_key, "parent": f'{{"id":"1","queueKey":"bull:{queue}"}}'})

    faults = scenarios.faults(Scenario(prepare, lambda queue: [("manage/remove_child_dependency", "2")]))
    assert {command: fault for command, fault in faults.items() if "replies [0" not in fault} == {}
