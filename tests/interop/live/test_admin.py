"""Workers, metrics and dependencies as both sides read them, and queues that version 6 paused."""

import re
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from bullrush import Worker
from tests.interop.peers import FLOOR
from tests.interop.sides.their_queue import TheirQueue
from tests.waiting import wait_until

from .our_worker import our_worker, work_off


def test_we_see_their_workers(ours, theirs, queue_name, redis_url):
    with theirs.worker(name="w1"), theirs.worker(), our_worker(queue_name, redis_url, name="w2"):
        workers = wait_until(lambda: len(found := ours.get_workers()) == 3 and found)
        by_id = {worker["id"]: worker for worker in wait_until(lambda: theirs.call("getWorkers"))}
    assert {worker["id"] for worker in workers} == set(by_id)
    for worker in workers:
        assert worker.keys() == by_id[worker["id"]].keys()
        assert (worker["name"], worker["rawname"]) == (queue_name, by_id[worker["id"]]["rawname"])


@pytest.mark.parametrize("name", [None, "their-worker"])
def test_their_workers_count_as_workers_of_the_route_that_they_serve(ours, node, queue_name, name):
    target = {"capabilities": ["gpu"]}
    ours.add("a", target=target, delay=60_000)
    route = TheirQueue(node, f"{queue_name}~cap.gpu")
    try:
        with route.worker(**({"name": name} if name else {})):
            wait_until(lambda: [status.workers for status in ours.route_status()] == [1])
        wait_until(lambda: [status.workers for status in ours.route_status()] == [0])
    finally:
        route.close()


SETTINGS: list[tuple[Any, ...]] = [
    ("setGlobalConcurrency", 3), ("setGlobalConcurrency", 4),
    ("removeGlobalConcurrency",), ("removeGlobalConcurrency",),
    ("setGlobalRateLimit", 3, 100), ("setGlobalRateLimit", 3, 100),
    ("removeGlobalRateLimit",), ("removeGlobalRateLimit",),
]  # fmt: skip


def test_settings_answer_with_the_same_counts(ours, theirs):
    def by_us(method: str, *arguments: int) -> Any:
        return getattr(ours, re.sub("([A-Z])", r"_\1", method).lower())(*arguments)

    assert [by_us(*call) for call in SETTINGS] == [theirs.call(*call) for call in SETTINGS] == [1, 0, 1, 0, 2, 0, 2, 0]


def test_they_see_workers_of_ours_that_do_not_run(theirs, queue_name, redis_url):
    with (
        Worker(queue_name, url=redis_url, name="ready") as ready,
        Worker(queue_name, url=redis_url, name="hand") as hand,
    ):
        ready.wait_until_ready()
        assert hand.get_next_job("t", block=False) is None
        workers = wait_until(lambda: len(found := theirs.call("getWorkers")) == 2 and found)
        assert {worker["rawname"].rpartition(":w:")[2] for worker in workers} == {"ready", "hand"}
    wait_until(lambda: theirs.call("getWorkers") == [])


def test_we_list_their_queue_events(ours, theirs):
    with theirs.listening():
        (listener,) = wait_until(ours.get_queue_events)
        assert listener["rawname"].endswith(":qe")
        assert ours.get_workers() == []


def test_metrics_of_either_side_are_read_by_both(ours, theirs, queue_name, redis_url):
    ours.add("n")
    work_off(queue_name, redis_url, metrics={"max_data_points": 3})
    ours.add("n")
    with theirs.worker(metrics={"maxDataPoints": 3}):
        wait_until(lambda: ours.get_completed_count() == 2)
    read, metrics = theirs.call("getMetrics", "completed"), ours.get_metrics("completed")
    assert metrics["meta"]["count"] == 2
    assert list(read["meta"].values()) == list(metrics["meta"].values())
    assert (read["data"], read["count"]) == (metrics["data"], metrics["count"])


def test_prometheus_reads_the_same_text_of_both(ours, theirs, queue_name, redis_url):
    ours.add("n")
    ours.add("first", priority=1)
    if theirs.node.version == FLOOR.version:
        assert theirs.call("exportPrometheusMetrics") == ours.export_prometheus_metrics()
    else:
        work_off(queue_name, redis_url, metrics={"max_data_points": 3})
        labels = {"env": 'te"st\\\n'}
        text = ours.export_prometheus_metrics(labels).splitlines()
        if theirs.node.major > FLOOR.major:
            text = [line for line in text if 'state="paused"' not in line]
        assert theirs.call("exportPrometheusMetrics", labels).splitlines() == text


def test_both_sides_read_the_same_dependencies(ours, theirs, queue_name):
    child = {"name": "c", "queueName": queue_name, "data": {}}
    theirs.add_flow(
        {
            "name": "p",
            "queueName": queue_name,
            "data": {},
            "opts": {"jobId": "p"},
            "children": [
                {**child, "opts": {"jobId": "done"}},
                {
                    **child,
                    "opts": {"jobId": "ignored", "ignoreDependencyOnFailure": True},
                    "data": {"runs": [[["throw", "no"]]]},
                },
                {**child, "opts": {"jobId": "open", "delay": 60_000}},
            ],
        }
    )
    theirs.work()
    parent = ours.get_job("p")
    assert parent.get_dependencies() == theirs.on_job("p", "getDependencies")
    assert parent.get_dependencies_count() == theirs.on_job("p", "getDependenciesCount")
    for kind in ("processed", "pending"):
        read, page = theirs.call("getDependencies", "p", kind, 0, -1), ours.get_dependencies("p", kind, 0, -1)
        assert (read["items"], read["total"]) == (page["items"], page["total"])
        # Version 6 makes objects of the raw fields.
        assert theirs.node.major == 6 or read["jobs"] == page["jobs"]
    assert ours.get_counts_per_priority([0, 1]) == theirs.call("getCountsPerPriority", [0, 1])


# Beside version 6, which leaves the jobs of a paused queue in `wait`


@pytest.fixture
def paused_by_both(ours, old, new, redis):
    """Our queue, paused by version 6 with a job in `wait`, and one of version 5 in `paused`."""
    new.add("new", {})
    new.call("pause")
    old.add("old", {})
    assert redis.lrange(ours.to_key("wait"), 0, -1) == ["1"]
    assert redis.lrange(ours.to_key("paused"), 0, -1) == ["2"]
    return ours


OUR_CALLS: dict[str, Callable[[Any], Any]] = {
    "pause": lambda queue: queue.pause(),
    "add": lambda queue: queue.add("n"),
    "add delayed": lambda queue: queue.add("n", delay=60_000),
    "promote": lambda queue: queue.add("n", delay=60_000).promote(),
    "change priority": lambda queue: queue.get_job("1").change_priority(priority=3),
    "trim": lambda queue: queue.trim_events(0),
    "orphans": lambda queue: queue.remove_orphaned_jobs(),
    "clean": lambda queue: queue.clean(60_000, 0, "wait"),
    "read": lambda queue: queue.get_jobs(),
}


@pytest.mark.parametrize("call", OUR_CALLS)
@pytest.mark.parametrize("resumed_by", ["ours", "new"])
def test_no_call_of_ours_loses_a_job(paused_by_both, new, queue_name, redis_url, call, resumed_by):
    queue = paused_by_both
    OUR_CALLS[call](queue)
    assert queue.count() == queue.get_job_count_by_types("waiting", "paused", "prioritized", "delayed") >= 2
    assert queue.is_paused()
    queue.resume() if resumed_by == "ours" else new.call("resume")
    queue.promote_jobs()
    ran: list[str] = []
    work_off(queue_name, redis_url, lambda job: ran.append(job.id))
    assert {"1", "2"} <= set(ran)
    assert queue.get_job_counts("waiting", "prioritized", "delayed", "active") == {
        "waiting": 0, "prioritized": 0, "delayed": 0, "active": 0, "paused": 0,
    }  # fmt: skip


def test_resume_joins_both_lists_in_the_order_of_the_adds(paused_by_both, redis):
    queue = paused_by_both
    queue.resume()
    assert set(redis.lrange(queue.to_key("wait"), 0, -1)) == {"1", "2"}
    assert not redis.exists(queue.to_key("paused"))
    assert [job.id for job in queue.get_waiting()] == [job.id for job in queue.get_jobs("waiting", asc=True)]


def test_nothing_is_fetched_from_either_list_while_paused(paused_by_both, queue_name, redis_url):
    assert work_off(queue_name, redis_url).completed == 0
    assert paused_by_both.get_job_counts("wait", "paused") == {"wait": 1, "paused": 1}


@pytest.mark.parametrize("delayed", [False, True])
def test_drain_empties_both_lists(paused_by_both, delayed):
    paused_by_both.drain(delayed)
    assert paused_by_both.count() == 0
    assert paused_by_both.get_job("1") is paused_by_both.get_job("2") is None


@pytest.mark.parametrize("list", ["wait", "paused"])
def test_clean_takes_the_list_it_is_asked_for(paused_by_both, list):
    assert len(paused_by_both.clean(0, 0, list)) == 1
    assert paused_by_both.count() == 1


def test_obliterate_leaves_nothing_behind(paused_by_both, redis):
    paused_by_both.add("later", delay=60_000)
    paused_by_both.obliterate()
    assert list(redis.scan_iter(paused_by_both.to_key("*"))) == []


@pytest.mark.parametrize("turns", list(permutations(["old", "new", "ours"])), ids="-".join)
def test_three_kinds_of_clients_pause_and_resume_in_turn(ours, old, new, redis, queue_name, redis_url, turns):
    """Each client adds, and the next one pauses or resumes. 5.x overwrites lists: it acts when it loses no job."""
    add = {"old": lambda: old.add("n"), "new": lambda: new.add("n"), "ours": lambda: ours.add("n")}
    call = {"old": old.call, "new": new.call, "ours": lambda method: getattr(ours, method)()}
    added = 0
    for method in ("pause", "resume", "pause", "resume"):
        for turn in turns:
            lists = [redis.exists(ours.to_key(name)) for name in ("wait", "paused")]
            if turn == "old" and all(lists):
                ours.pause() if method == "pause" else ours.resume()
            call[turn](method)
            add[turn]()
            added += 1
            assert ours.count() == added, (method, turn)
    ours.resume()
    assert work_off(queue_name, redis_url).completed == added


def test_orphans_of_either_side(ours, new, redis):
    """Version 6 also removes keys that are not a job's; ours also checks ids with a colon."""
    ours.add("n")
    for lost in ("50", "51"):
        redis.hset(ours.to_key(lost), mapping={"name": "n", "timestamp": 1, "data": "{}", "opts": "{}"})
    redis.rpush(ours.to_key("52:logs"), "row")
    before = redis.xlen(ours.to_key("events"))
    assert ours.remove_orphaned_jobs() == 3
    assert new.call("removeOrphanedJobs") == 0
    redis.hset(ours.to_key("50"), mapping={"name": "n", "timestamp": 1, "data": "{}", "opts": "{}"})
    assert new.call("removeOrphanedJobs") == 1
    assert ours.remove_orphaned_jobs() == 0
    assert redis.xlen(ours.to_key("events")) == before
