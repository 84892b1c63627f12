"""lua/hint, and the markers of fan_out: they are hints, so a command that is denied stops no job."""

from tests.lua.denied.scenarios import NOW, Scenario

LATER = NOW + 60_000


def nothing(queue):
    pass


def run_of(*ids, delay=0):
    return [len(ids), "n", "{}", NOW, delay, 0, 0, 1, *[part for id in ids for part in (id, "{}")]]


def test_jobs_are_added_without_the_markers_that_cannot_be_set(scenarios):
    def calls(queue):
        return [("add/add_jobs", *run_of("a", "b", "c"), *run_of("d", delay=5000), "fan_out")]

    faults = scenarios.faults(Scenario(nothing, calls))
    assert list(faults) == ["zcount"]
    assert faults["zcount"].startswith("left [('marker', [('0', 0), ('1', ")


def test_jobs_are_fetched_without_the_markers_that_cannot_be_set(scenarios, run):
    def prepare(queue):
        run("add/add_jobs", queue, *run_of("a", "b", "c", "d", delay=10))

    def calls(queue):
        return [("fetch/move_to_active", NOW + 10, "t", 30_000, "", "", "", 1, 1, "", 0, "fan_out")]

    faults = scenarios.faults(Scenario(prepare, calls, placed=("a", "b", "c", "d")))
    assert faults == {}


def test_markers_are_swept(scenarios, client, run):
    def prepare(queue):
        client.zadd(f"bull:{queue}:marker", {"0": 0, "w:1": 0, "w:2": 0, "1": LATER})

    def full(queue):
        run("add/add_jobs", queue, *run_of("a", "b"))
        run("fetch/move_to_active", queue, NOW, "t", 3_000_000, "", "", "", 1, 1, "", 0)
        client.hset(f"bull:{queue}:meta", "concurrency", 1)
        prepare(queue)

    assert scenarios.faults(Scenario(prepare, lambda queue: [("hint/sweep_markers",)])) == {}
    assert scenarios.faults(Scenario(full, lambda queue: [("hint/sweep_markers",)])) == {}


def test_another_worker_is_woken(scenarios, run, client):
    def prepare(queue):
        run("add/add_jobs", queue, *run_of("a"), *run_of("b", delay=5000))
        client.delete(f"bull:{queue}:marker")

    scenario = Scenario(prepare, lambda queue: [("hint/wake_another",)], placed=("a", "b"))
    assert scenarios.faults(scenario) == {}


def test_a_hint_is_provided_and_consumed(scenarios, client):
    def prepare(queue):
        client.set(f"bull:{queue}:ext:hint", 5)

    calls = [("hint/provide_wake_hint", 2)], [("hint/consume_wake_hint", 2)]
    for call in calls:
        assert scenarios.faults(Scenario(prepare, lambda queue, call=call: call)) == {}
