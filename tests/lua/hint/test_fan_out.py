"""The optional last argument ``fan_out`` of scripts that make several jobs ready: a marker for each but the first."""

import json

import pytest
import redis

NOW = 1795225366409
FETCH = (NOW, "t", 30_000, "", "", "")


def run_of(count, *, delay=0, priority=0):
    """Return the arguments of a run of add_jobs."""
    return [count, "n", "{}", NOW, delay, priority, 0, 0, *["{}"] * count]


def linked(queue, job_id, parent="", children=0, delay=0):
    """Return the arguments of a run of one job of add_linked_jobs."""
    link = (f"bull:{queue}:{parent}", json.dumps({"id": parent, "queueKey": f"bull:{queue}"})) if parent else ("", "")
    return [1, f"bull:{queue}:", "n", "{}", NOW, delay, 0, 0, 1, children, *link, "", 0, "", job_id, "{}"]


@pytest.fixture
def markers(client):
    """`markers(queue)`: the members of the marker, in their order."""
    return lambda queue: client.zrange(f"bull:{queue}:marker", 0, -1)


@pytest.fixture
def wipe(client):
    """Removes all markers of a queue."""
    return lambda queue: client.delete(f"bull:{queue}:marker")


def added(run, queue):
    return ["add/add_jobs", *run_of(4)]


def added_with_priority(run, queue):
    return ["add/add_jobs", *run_of(2, priority=3), *run_of(2), *run_of(3, delay=9000)]


def added_as_a_flow(run, queue):
    jobs = [
        linked(queue, "p", children=1),
        *(linked(queue, f"c{i}", "p") for i in range(4)),
        linked(queue, "d", "p", 0, 9),
    ]
    return ["add/add_linked_jobs", "", *(part for job in jobs for part in job)]


def due(run, queue):
    run("add/add_jobs", queue, *run_of(4, delay=10))
    return ["manage/promote_due", NOW + 10, 100]


def all_delayed(run, queue):
    run("add/add_jobs", queue, *run_of(4, delay=60_000))
    return ["manage/promote_jobs", 1000]


def some_delayed(run, queue):
    run("add/add_jobs", queue, *run_of(5, delay=60_000))
    return ["manage/promote_many", 4, "1", "2", "3", "4"]


def completed(run, queue):
    run("add/add_jobs", queue, *run_of(4))
    run("fetch/move_to_active", queue, *FETCH, 4, 4, "", 0)
    jobs = ["1", "2", "3", "4"]
    run("finish/move_to_finished", queue, NOW, 0, 0, "t", 30_000, "", "", "", 0, "", 0, "",
        4, "completed", "t", -1, "", "", "", "1", *jobs)  # fmt: skip
    return ["manage/retry_jobs", "completed", 1000, NOW]


def paused(run, queue):
    run("add/add_jobs", queue, *run_of(3), *run_of(1, priority=2))
    run("manage/pause", queue)
    return ["manage/resume"]


def stalled(run, queue):
    run("add/add_jobs", queue, *run_of(4))
    run("fetch/move_to_active", queue, NOW, "0", 30_000, "", "", "", 4, 4, "", 0)
    run("lock/move_stalled_jobs_to_wait", queue, NOW, 1, 1, 1000, 0)
    return ["lock/move_stalled_jobs_to_wait", NOW, 1, 1, 1000, 1]


def due_at_a_fetch(run, queue):
    """Five are due, one of which is fetched."""
    run("add/add_jobs", queue, *run_of(5, delay=10))
    return ["fetch/move_to_active", NOW + 10, *FETCH[1:], 1, 1, "", 0]


def due_at_a_finish(run, queue):
    run("add/add_jobs", queue, *run_of(1), *run_of(5, delay=10))
    run("fetch/move_to_active", queue, *FETCH, 1, 1, "", 0)
    return ["finish/move_to_finished", NOW + 10, 0, 1, "t", 30_000, "", "", "", 1, "", 0, "",
            1, "completed", "t", -1, "", "", "", "1", "1"]  # fmt: skip


def due_at_a_retry(run, queue):
    """Three are due, and the job that is retried is the fourth."""
    run("add/add_jobs", queue, *run_of(1), *run_of(3, delay=10))
    run("fetch/move_to_active", queue, *FETCH, 1, 1, "", 0)
    return ["finish/retry_job", NOW + 10, "1", "t", 0, "", ""]


def parents(run, queue):
    """Each of four children is the last of its parent."""
    jobs = [job for i in range(4) for job in (linked(queue, f"p{i}", children=1), linked(queue, f"c{i}", f"p{i}"))]
    run("add/add_linked_jobs", queue, "", *(part for job in jobs for part in job))
    run("fetch/move_to_active", queue, *FETCH, 4, 4, "", 0)
    return ["finish/move_to_finished", NOW, 0, 0, "t", 30_000, "", "", "", 0, "", 0, "",
            4, "completed", "t", -1, "", "", "", "1", "c0", "c1", "c2", "c3"]  # fmt: skip


SITUATIONS = [
    added, added_with_priority, added_as_a_flow, due, all_delayed, completed, paused, stalled, due_at_a_fetch,
    due_at_a_finish, due_at_a_retry, parents, some_delayed,
]  # fmt: skip


@pytest.mark.parametrize("prepare", SITUATIONS)
def test_four_jobs_that_become_ready_have_four_markers(prepare, run, client, new_queue, markers, wipe, dump):
    states = []
    for fan_out in ([], ["fan_out"]):
        queue = new_queue()
        script, *args = prepare(run, queue)
        client.delete(f"bull:{queue}:stalled-check")
        wipe(queue)
        run(script, queue, *args, *fan_out)
        states.append({"queue": queue, "markers": markers(queue), "dump": dump(queue)})
    without, with_markers = states
    assert [member for member in without["markers"] if member.startswith("w:")] == []
    hints = [member for member in with_markers["markers"] if member.startswith("w:")]
    assert (len(hints), "0" in with_markers["markers"]) == (3, True)
    # All else is the same: the key space of a queue differs by these members alone.
    with_markers["dump"]["marker"] = [pair for pair in with_markers["dump"]["marker"] if not pair[0].startswith("w:")]
    expected = json.dumps(without["dump"], default=sorted).replace(without["queue"], with_markers["queue"])
    assert json.loads(json.dumps(with_markers["dump"], default=sorted)) == json.loads(expected)


@pytest.mark.parametrize("prepare", SITUATIONS[:5])
@pytest.mark.parametrize("meta", [{"paused": 1}, {"concurrency": 1}])
def test_no_markers_while_the_queue_is_paused_or_full(prepare, meta, run, add, fetch, client, queue, markers, wipe):
    add(queue, "{}", ids=["busy"])
    fetch(queue)
    script, *args = prepare(run, queue)
    client.hset(f"bull:{queue}:meta", mapping=meta)
    wipe(queue)
    run(script, queue, *args, "fan_out")
    assert [member for member in markers(queue) if member != "1"] == []


def test_the_markers_of_two_producers_add_up(run, queue, markers):
    for _ in range(2):
        run("add/add_jobs", queue, *run_of(3), "fan_out")
    assert markers(queue) == ["0", "w:2", "w:3", "w:5", "w:6"]


def test_the_key_never_holds_more_than_256_markers(run, queue, markers):
    for _ in range(3):
        run("add/add_jobs", queue, *run_of(200), *run_of(1, delay=5000), "fan_out")
    assert len(markers(queue)) == 256
    assert {"0", "1"} < set(markers(queue))


def test_a_single_job_gets_no_marker_of_its_own(run, queue, markers):
    run("add/add_jobs", queue, *run_of(1), "fan_out")
    assert markers(queue) == ["0"]


def test_a_fetch_that_takes_all_promoted_jobs_leaves_no_marker_for_them(run, queue, markers, wipe):
    run("add/add_jobs", queue, *run_of(5, delay=10))
    wipe(queue)
    run("fetch/move_to_active", queue, NOW + 10, *FETCH[1:], 10, 10, "", 0, "fan_out")
    assert markers(queue) == ["0"]


def test_a_job_whose_id_is_the_word_is_finished(run, add, fetch, queue, dump):
    add(queue, "{}", ids=["fan_out"])
    fetch(queue)
    shared = [1, "completed", "t", -1, "", "", "", "1", "fan_out"]
    run("finish/move_to_finished", queue, NOW, 0, 0, "t", 30_000, "", "", "", 0, "", 0, "", *shared)
    assert dump(queue)["completed"] == [("fan_out", NOW)]


@pytest.mark.parametrize("word", ["fanout", "1", ""])
def test_another_last_argument_is_refused(run, queue, word):
    with pytest.raises(redis.ResponseError, match="malformed run"):
        run("add/add_jobs", queue, *run_of(2), word)
