"""Jobs fetched and finished by manual workers leave the state of BullMQ."""

import inspect
from collections.abc import Iterator

import pytest

from . import test_fetch, test_finish, test_retry

#: Not run here: it compares in its own way, stack traces too.
BY_BATCHES = {"test_many_failed_at_once_are_many_failed_singly"}


def sequences() -> Iterator[object]:
    """Yield the tests of the scripts, to run them with manual workers: limits, keep rules, retries, refusals."""
    for module in (test_fetch, test_finish, test_retry):
        for name, test in vars(module).items():
            if (
                name.startswith("test_")
                and name not in BY_BATCHES
                and list(inspect.signature(test).parameters) == ["pair"]
            ):
                yield pytest.param(test, id=f"{module.__name__.rpartition('_')[2]}-{name}")


@pytest.mark.parametrize("sequence", [*sequences()])
def test_the_public_api_does_what_the_scripts_do(pair, sequence):
    sequence(pair)


@pytest.fixture
def pair(manual_pair):
    return manual_pair


def test_a_job_is_fetched_and_completed(pair):
    pair.add("work", {"n": 1})
    assert pair.fetch("t1") == "1"
    pair.tick(5)
    pair.complete("1", {"ok": True}, "t1")
    assert pair.fetch("t1") is None


@pytest.mark.parametrize("worker", [{}, {"name": "w1"}, {"lockDuration": 60_000}, {"metrics": {"maxDataPoints": 3}}])
def test_each_result_brings_the_next_job(pair, worker):
    for n in range(3):
        pair.add("work", {"n": n}, priority=n)
    pair.fetch("t1", **worker)
    assert pair.complete("1", None, "t1", True, **worker) == "2"
    pair.tick(60_000)
    assert pair.fail("2", "boom", "t1", fetch_next=True, **worker) == "3"
    assert pair.complete("3", [], "t1", True, **worker) is None


@pytest.mark.parametrize("opts", [{}, {"attempts": 3}, {"attempts": 3, "backoff": 1000}, {"attempts": 2, "lifo": True}])
@pytest.mark.parametrize("unrecoverable", [False, True])
@pytest.mark.parametrize("fetch_next", [False, True])
def test_failures(pair, opts, unrecoverable, fetch_next):
    pair.add("work", {}, **opts)
    pair.add("work", {})
    for _ in range(3):
        id = pair.fetch("t1")
        if id is None:
            break
        pair.fail(id, "boom", "t1", unrecoverable=unrecoverable, fetch_next=fetch_next)
        pair.tick(1000)


def test_refusals_write_nothing_and_fetch_nothing(pair):
    pair.add("work", {})
    pair.add("work", {})
    pair.fetch("t1")
    for finish in (pair.complete, pair.fail):
        finish("1", "x", "other", fetch_next=True)
        finish("2", "x", "t1", fetch_next=True)
        finish("99", "x", "t1", fetch_next=True)
    pair.expire("1:lock")
    pair.complete("1", "x", "t1", True)


@pytest.mark.parametrize("keep", [{"count": 0}, {"count": 1}, {"age": 1}, {"age": 3600, "count": 1}])
def test_the_workers_keep_rules(pair, keep):
    worker = {"removeOnComplete": keep, "removeOnFail": keep}
    for n in range(4):
        pair.add("work", {"n": n})
    for id in ("1", "2"):
        pair.fetch("t1")
        pair.tick(2000)
        pair.complete(id, None, "t1", **worker)
    for id in ("3", "4"):
        pair.fetch("t1")
        pair.fail(id, "boom", "t1", **worker)


def test_moves_of_a_running_job(pair):
    for n in range(3):
        pair.add("work", {"n": n}, priority=n)
    pair.fetch_many(3, "t1")
    pair.move_to_delayed("1", 5000, "t1")
    pair.move_to_wait("2", "t1")
    pair.move_to_wait("3", "wrong")
    pair.extend_locks(60_000, {"3": "t1", "1": "t1"})
    assert pair.move_to_waiting_children("3", "t1") is False


@pytest.mark.parametrize("priority", [0, 2])
def test_a_job_that_moves_itself_to_wait_wakes_a_worker_of_ours_also_if_it_is_prioritized(pair, priority):
    pair.add("work", {"n": 1}, priority=priority)
    pair.fetch("t1")
    pair.command("DEL", "{P}marker")
    pair.move_to_wait("1", "t1")
    assert "marker" in pair.states()[1]


def test_jobs_of_a_worker_that_stopped_renewing_locks_come_back(pair):
    pair.add_bulk([{"name": "work", "data": n} for n in range(3)])
    pair.fetch_many(3, "t1")
    pair.stalled()
    pair.expire("stalled-check")
    pair.expire("1:lock")
    pair.expire("2:lock")
    assert pair.stalled() == ["1", "2"]


@pytest.mark.parametrize("which", ["any", "that one", "another"])
def test_a_running_parent_waits_for_children(pair, which):
    pair.add("parent", {})
    pair.fetch("t1")
    parent = {"id": "1", "queue": f"bull:{pair.name()}"}
    pair.add("child", {}, parent=parent, queue="c")
    child = {"any": None, "that one": {"id": "1"}, "another": {"id": "2"}}[which]
    child = child and {**child, "queue": f"bull:{pair.name('c')}"}
    pair.move_to_waiting_children("1", "wrong", child)
    pair.move_to_waiting_children("9", "t1", child)
    assert pair.move_to_waiting_children("1", "t1", child) is (which != "another")
    pair.move_to_waiting_children("1", "t1", child)
    pair.fetch("t2", queue="c")
    pair.complete("1", "ok", "t2", queue="c")
    pair.fetch("t3")


def test_a_parent_with_a_failed_child_neither_waits_nor_completes(pair):
    pair.add("parent", {})
    pair.fetch("t1")
    parent = {"id": "1", "queue": f"bull:{pair.name()}"}
    for _ in range(2):
        pair.add("child", {}, parent=parent, failParentOnFailure=True, queue="c")
    pair.complete("1", "too early", "t1")
    pair.fetch("t2", queue="c")
    pair.fail("1", "boom", "t2", queue="c")
    pair.move_to_waiting_children("1", "t1")
    pair.complete("1", "never", "t1")
