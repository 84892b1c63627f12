"""lua/add: whatever command is denied, a call adds all its jobs or none; made again, it leaves what one call leaves."""

import json

import pytest

from tests.lua.denied.scenarios import NOW, Scenario


def nothing(queue):
    pass


def run_of(*data, ids=None, delay=0, priority=0, lifo=0):
    """Return the arguments of a run of add_jobs."""
    each = data if ids is None else [part for pair in zip(ids, data, strict=True) for part in pair]
    return [len(data), "n", "{}", NOW, delay, priority, lifo, int(ids is not None), *each]


@pytest.mark.parametrize("place", [{}, {"lifo": 1}, {"priority": 3}, {"delay": 5000}])
def test_jobs_are_added(scenarios, place):
    def calls(queue):
        return [("add/add_jobs", *run_of("1", "2", "3", ids=["a", "b", "c"], **place), *run_of("4", ids=["d"]))]

    assert scenarios.faults(Scenario(nothing, calls)) == {}


@pytest.mark.parametrize("place", [{}, {"priority": 3}, {"delay": 5000}])
def test_jobs_are_added_beside_others(scenarios, add, place):
    def prepare(queue):
        add(queue, "{}", "{}", ids=["there", "there too"], **place)

    def calls(queue):
        return [("add/add_jobs", *run_of("1", "2", "3", ids=["a", "there", "c"], **place))]

    assert scenarios.faults(Scenario(prepare, calls)) == {}


def test_jobs_are_counted_once(scenarios):
    def calls(queue):
        return [("add/add_jobs", "batch", "b", *run_of("1", "2", ids=["a", "b"]))]

    assert scenarios.faults(Scenario(nothing, calls)) == {}


def linked(queue, job_id, parent="", children=0, delay=0, deduplication=("", 0, ""), data="{}"):
    """Return the arguments of a run of one job of add_linked_jobs."""
    link = (f"bull:{queue}:{parent}", json.dumps({"id": parent, "queueKey": f"bull:{queue}"})) if parent else ("", "")
    place = [NOW, delay, 0, 0, 1, children, *link, *deduplication]
    return [1, f"bull:{queue}:", "n", "{}", *place, job_id, data]


def test_a_parent_and_its_children_are_added(scenarios):
    def calls(queue):
        jobs = [linked(queue, "p", children=1), linked(queue, "c1", "p"), linked(queue, "c2", "p", delay=5000)]
        return [("add/add_linked_jobs", "", *(part for job in jobs for part in job))]

    assert scenarios.faults(Scenario(nothing, calls)) == {}


def test_linked_jobs_are_counted_once(scenarios):
    def calls(queue):
        jobs = [linked(queue, "p", children=1), linked(queue, "c1", "p")]
        return [("add/add_linked_jobs", "batch", "b", "", *(part for job in jobs for part in job))]

    assert scenarios.faults(Scenario(nothing, calls)) == {}


def test_children_that_exist_get_a_parent(scenarios, add, fetch, finish):
    def prepare(queue):
        add(queue, "{}", "{}", ids=["c1", "c2"])
        fetch(queue, 1)
        finish(queue, ("c1", "1"))

    def calls(queue):
        jobs = [linked(queue, "p", children=1), linked(queue, "c1", "p"), linked(queue, "c2", "p")]
        return [("add/add_linked_jobs", "", *(part for job in jobs for part in job))]

    assert scenarios.faults(Scenario(prepare, calls)) == {}


@pytest.mark.parametrize("flags", ["", "e", "s"])
@pytest.mark.parametrize("gone", [False, True])
def test_a_job_is_deduplicated_in_a_queue_of_bullmq_6(scenarios, run, client, flags, gone):
    def prepare(queue):
        client.hset(f"bull:{queue}:meta", "version", "bullmq:6.7.0")
        if gone:
            client.set(f"bull:{queue}:de:d", "gone")
        else:
            run("add/add_linked_jobs", queue, "", *linked(queue, "first", delay=9000, deduplication=("d", 0, "")))

    def calls(queue):
        return [("add/add_linked_jobs", "", *linked(queue, "second", delay=5000, deduplication=("d", 0, flags)))]

    assert scenarios.faults(Scenario(prepare, calls)) == {}


@pytest.mark.parametrize("flags", ["", "e", "r", "er"])
@pytest.mark.parametrize("ttl", [0, 60_000_000])
def test_a_job_is_deduplicated(scenarios, run, client, flags, ttl):
    def prepare(queue):
        run("add/add_linked_jobs", queue, "", *linked(queue, "first", delay=9000, deduplication=("d", 0, "")))

    def calls(queue):
        return [("add/add_linked_jobs", "", *linked(queue, "second", delay=5000, deduplication=("d", ttl, flags)))]

    faults = scenarios.faults(Scenario(prepare, calls))
    if "r" in flags:
        # The remaining hash of the replaced job is in no state; remove_orphaned_jobs removes it.
        assert faults.pop("del").startswith("after the failure: {'first': []}")
    assert faults == {}


def test_a_job_is_parked_while_another_runs(scenarios, run, fetch):
    def prepare(queue):
        run("add/add_linked_jobs", queue, "", *linked(queue, "first", deduplication=("d", 0, "")))
        fetch(queue)

    def calls(queue):
        return [("add/add_linked_jobs", "", *linked(queue, "second", deduplication=("d", 0, "k")))]

    assert scenarios.faults(Scenario(prepare, calls)) == {}


def scheduler(every, at=NOW, **opts):
    head = [at, "s", "", every, "", "tick", "{}", json.dumps({"repeat": {"every": every}, **opts}), 0, 0, ""]
    return ("add/add_job_scheduler", *head, "name", "tick", "every", every)


@pytest.mark.parametrize("every", [10_000, 60_000])
@pytest.mark.parametrize("at", [NOW, NOW + 9_000])
def test_a_scheduler_is_created_and_changed(scenarios, run, every, at):
    def prepare(queue):
        script, *args = scheduler(10_000)
        run(script, queue, *args)

    assert scenarios.faults(Scenario(nothing, lambda queue: [scheduler(every)])) == {}
    assert scenarios.faults(Scenario(prepare, lambda queue: [scheduler(every, at)])) == {}


@pytest.mark.parametrize("at", [NOW, NOW + 9_000])
def test_a_scheduler_of_bullmq_6_starts_anew(scenarios, run, client, at):
    def prepare(queue):
        client.hset(f"bull:{queue}:meta", "version", "bullmq:6.7.0")
        script, *args = scheduler(10_000)
        run(script, queue, *args)

    faults = scenarios.faults(Scenario(prepare, lambda queue: [scheduler(60_000, at)]))
    # The old job has been replaced when the rest is refused. What is left of it is in no state, as above.
    replaced = f"after the failure: {{'repeat:s:{NOW}'"
    assert {command: fault for command, fault in faults.items() if not fault.startswith(replaced)} == {}


def test_the_next_job_of_a_scheduler_is_added(scenarios, run, fetch):
    """Its counter and its events may be missing, its jobs not."""

    def prepare(queue):
        script, *args = scheduler(10_000)
        run(script, queue, *args)
        fetch(queue)

    def calls(queue):
        taken = f"repeat:s:{NOW}"
        return [("add/add_scheduler_iteration", NOW, "s", taken, "", 10_000, "tick", "{}", "{}", 0, 0, "")]

    faults = scenarios.faults(Scenario(prepare, calls))
    assert {command: fault for command, fault in faults.items() if "replies [None]" not in fault} == {}
