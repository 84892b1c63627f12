"""Deduplication: which job owns the id, which is left out, and what frees it, as in BullMQ."""

from collections.abc import Callable

import pytest

from tests.interop.peers import Peer
from tests.interop.sides.pair import Pair

TTL = 60_000
MODES = {
    "simple": {"id": "d"},
    "throttle": {"id": "d", "ttl": TTL},
    "throttle, extended": {"id": "d", "ttl": TTL, "extend": True},
    "replace": {"id": "d", "replace": True},
    "replace, throttle": {"id": "d", "ttl": TTL, "replace": True},
    "debounce": {"id": "d", "ttl": TTL, "replace": True, "extend": True},
    "extended without ttl": {"id": "d", "extend": True},
    "replace, extended without ttl": {"id": "d", "replace": True, "extend": True},
    "no ttl": {"id": "d", "ttl": 0},
}


@pytest.fixture(params=["scripts", "api"])
def either(request: pytest.FixtureRequest, peer: Peer) -> Pair:
    """Real BullMQ beside our scripts, then beside bullrush job by job; both on a stopped clock."""
    pair: Pair = request.getfixturevalue("pair" if request.param == "scripts" else "manual_pair")
    return pair


@pytest.fixture(params=list(MODES))
def mode(request: pytest.FixtureRequest) -> dict[str, object]:
    return MODES[request.param]


@pytest.mark.parametrize(
    "opts", [{}, {"delay": 5000}, {"priority": 2}, {"jobId": "mine"}, {"lifo": True, "attempts": 3}]
)
def test_a_job_while_one_of_its_id_waits(either: Pair, mode: dict[str, object], opts: dict[str, object]) -> None:
    either.add("first", {"n": 1}, deduplication=mode, **opts)
    either.tick(1000)
    either.add("second", {"n": 2}, deduplication=mode, **opts)
    either.add("third", {"n": 3}, deduplication=mode, **{**opts, **({"jobId": "other"} if "jobId" in opts else {})})
    either.deduplication_job_id("d")


@pytest.mark.parametrize("second", list(MODES))
def test_one_mode_after_another(either: Pair, mode: dict[str, object], second: str) -> None:
    either.add("first", {}, deduplication=mode, delay=5000)
    either.add("second", {}, deduplication=MODES[second], delay=7000)
    either.add("now", {}, deduplication=MODES[second])


@pytest.mark.parametrize("last", [{}, {"delay": 9000}, {"priority": 1}])
def test_the_marker_after_a_call_that_adds_delayed_jobs_and_replaces_one(
    either: Pair, mode: dict[str, object], last: dict[str, object]
) -> None:
    either.add("earlier", {}, deduplication=mode, delay=500)
    either.fetch("t:1")
    jobs = [{"delay": 5000}, {"delay": 7000, "deduplication": {"id": "e"}}, {"deduplication": mode, **last}]
    either.add_bulk([{"name": "bulk", "data": {}, "opts": opts} for opts in jobs])
    jobs = [{"delay": 300, "deduplication": {"id": "f"}}, {"deduplication": {"id": "f", "replace": True}, **last}]
    either.add_bulk([{"name": "bulk", "data": {}, "opts": opts} for opts in jobs])


def test_the_old_name_does_the_same(either: Pair, mode: dict[str, object]) -> None:
    either.add("first", {}, debounce=mode)
    either.add("second", {}, debounce=mode)
    either.add("both", {}, debounce={"id": "x"}, deduplication={"id": "y"})


def test_other_ids_are_not_affected(either: Pair, mode: dict[str, object]) -> None:
    either.add("first", {}, deduplication=mode)
    either.add("second", {}, deduplication={**mode, "id": "a:b/ü"})


def test_an_id_that_exists_is_a_duplicate_first(either: Pair, mode: dict[str, object]) -> None:
    either.add("first", {}, deduplication=mode, jobId="mine")
    either.add("again", {}, deduplication={**mode, "id": "e"}, jobId="mine")


def test_a_bulk_of_all_kinds_keeps_its_order(either: Pair, mode: dict[str, object]) -> None:
    either.add("parent", {}, jobId="p")
    parent = {"id": "p", "queue": f"bull:{either.name()}"}
    either.add_bulk(
        [
            {"name": "plain", "data": 1},
            {"name": "deduplicated", "data": 2, "opts": {"deduplication": mode, "delay": 1000}},
            {"name": "plain", "data": 3, "opts": {"priority": 2}},
            {"name": "deduplicated", "data": 4, "opts": {"deduplication": mode, "delay": 1000}},
            {"name": "child", "data": 5, "opts": {"parent": parent, "jobId": "c"}},
            {"name": "child", "data": 6, "opts": {"parent": parent, "jobId": "c"}},
            {"name": "plain", "data": 7, "opts": {"jobId": "c"}},
            {"name": "lifo", "data": 8, "opts": {"lifo": True}},
        ]
    )


def test_adding_while_paused(either: Pair, mode: dict[str, object]) -> None:
    either.pause()
    either.add("first", {}, deduplication=mode)
    either.add("second", {}, deduplication=mode, delay=1000)
    either.add("prioritized", {}, deduplication={**mode, "id": "e"}, priority=1)


@pytest.mark.parametrize("finish", ["complete", "fail"])
@pytest.mark.parametrize("keep", [{}, {"removeOnComplete": True, "removeOnFail": True}])
def test_a_job_that_finishes(either: Pair, mode: dict[str, object], finish: str, keep: dict[str, object]) -> None:
    id = either.add("work", {}, deduplication=mode, **keep)
    either.fetch("t:0")
    either.add("while it runs", {}, deduplication=mode)
    getattr(either, finish)(id, "x", "t:0")
    either.add("after", {}, deduplication=mode)


def test_a_job_that_is_tried_again_keeps_its_id(either: Pair, mode: dict[str, object]) -> None:
    id = either.add("work", {}, deduplication=mode, attempts=2, backoff=1000)
    either.fetch("t:0")
    either.fail(id, "boom", "t:0")
    either.add("while it waits", {}, deduplication=mode)


def _clean(pair: Pair, state: str) -> None:
    pair.tick(10)
    pair.clean(1, 0, state)


@pytest.mark.parametrize("release", ["remove", "drain", "clean", "obliterate", "promote"])
def test_what_frees_the_id(either: Pair, mode: dict[str, object], release: str) -> None:
    id = either.add("work", {}, deduplication=mode, delay=5000)
    ways: dict[str, Callable[[], object]] = {
        "remove": lambda: either.remove(id),
        "drain": lambda: either.drain(True),
        "clean": lambda: _clean(either, "delayed"),
        "obliterate": lambda: either.obliterate(),
        "promote": lambda: either.promote(id),
    }
    ways[release]()
    either.add("after", {}, deduplication=mode)


@pytest.mark.parametrize("finish", ["complete", "fail"])
def test_cleaning_and_pruning_finished_jobs(either: Pair, mode: dict[str, object], finish: str) -> None:
    keep = {"removeOnComplete": 1, "removeOnFail": 1}
    for n in range(2):
        id = either.add("work", {}, deduplication={**mode, "id": f"d{n}"}, **keep)
        either.fetch("t:0")
        getattr(either, finish)(id, "x", "t:0")
        either.tick(5)
    _clean(either, "completed" if finish == "complete" else "failed")


def test_the_id_can_be_freed_by_hand(either: Pair, mode: dict[str, object]) -> None:
    id = either.add("work", {}, deduplication=mode)
    assert either.remove_deduplication_key("d") == 1
    assert either.remove_deduplication_key("d") == 0
    assert either.deduplication_job_id("d") is None
    either.add("another", {}, deduplication=mode)
    either.fetch("t:0")
    either.complete(id, 1, "t:0")


def test_a_child_that_is_left_out_does_not_hold_its_parent_up(either: Pair, mode: dict[str, object]) -> None:
    either.add("work", {}, deduplication=mode)
    either.add("parent", {}, jobId="p")
    either.add("child", {}, deduplication=mode, parent={"id": "p", "queue": f"bull:{either.name()}"})
    either.add("child", {}, deduplication={**mode, "id": "e"}, parent={"id": "p", "queue": f"bull:{either.name()}"})


@pytest.mark.parametrize("rule", [{"ttl": 5}, {"id": ""}])
@pytest.mark.parametrize("name", ["deduplication", "debounce"])
def test_an_id_is_needed(manual_pair: Pair, name: str, rule: dict[str, object]) -> None:
    refused = manual_pair.add("work", {}, **{name: rule})
    assert "id must be provided" in refused.message
