"""Failed jobs are grouped by what failed, whatever the values in the texts of their errors."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bullrush import Job, Queue, Worker, aio
from bullrush.inspection.fingerprint import fingerprint
from tests.python.inspection.bugs import BUGS

HERE = Path(__file__).parent


def module_of(path: Path, source: str) -> ModuleType:
    """Load the bugs from a file, under the name that tests import them by."""
    spec = importlib.util.spec_from_file_location(f"tests.python.inspection.{source}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["bugs", "unseen_bugs"])
def copies(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, ModuleType]:
    """A file with bugs: as it is, with moved lines, and at another path."""
    name = request.param
    source = HERE / f"{name}.py"
    moved, released = tmp_path / source.name, tmp_path / "srv" / "releases" / "42" / source.name
    moved.write_text("# moved\n\n\n" + source.read_text().replace("\ndef ", "\n\n\ndef "))
    released.parent.mkdir(parents=True)
    shutil.copy(source, released)
    return {"here": module_of(source, name), "moved": module_of(moved, name), "released": module_of(released, name)}


def test_each_bug_is_one_group_however_it_is_thrown(
    queue: Queue, redis_url: str, copies: dict[str, ModuleType], worker: Callable[..., Worker]
) -> None:
    """Five ways: other values, moved lines, another path, a thread, an event loop."""
    bugs = copies["here"].BUGS
    ways = ("here", "moved", "released", "thread", "loop")
    queue.add_bulk(
        [{"name": name, "data": {"way": way, "n": n}} for name in bugs for n, way in enumerate(ways) if way != "loop"]
    )

    def handle(job: Job) -> Any:
        way = job.data["way"]
        if way == "thread":
            return asyncio.run(asyncio.to_thread(bugs[job.name], job.data["n"]))
        return copies[way].BUGS[job.name](job.data["n"])

    async def handle_in_loop(job: aio.Job) -> Any:
        await asyncio.sleep(0)
        return bugs[job.name](job.data["n"])

    assert worker(handle, concurrency=4).run(until="empty").failed == 4 * len(bugs)
    queue.add_bulk([{"name": name, "data": {"n": 4}} for name in bugs])
    assert worker(handle_in_loop, concurrency=4).run(until="empty").failed == len(bugs)

    groups = queue.failures()
    assert sum(group.count for group in groups) == 5 * len(bugs) and len(bugs) == 20
    mixed = [set(group.names) for group in groups if len(group.names) > 1]
    split = [name for name in bugs if sum(name in group.names for group in groups) > 1]
    # Of the bugs that nobody looked at before, two are one: the same text from methods of one name in one file.
    alike = [{"moderate_comment", "moderate_review"}] if "moderate_review" in bugs else []
    assert (mixed, split) == (alike, [])


def test_the_place_of_a_group_is_where_the_bug_is(queue: Queue, worker: Callable[..., Worker]) -> None:
    queue.add_bulk([{"name": name, "data": 3} for name in BUGS])
    worker(lambda job: BUGS[job.name](job.data)).run(until="empty")
    places = {name: group.place for group in queue.failures() for name in group.names}
    assert all(name in place for name, place in places.items() if name != "not_a_number_in_a_helper")


def test_a_group_says_what_how_often_and_when(queue: Queue, worker: Callable[..., Worker]) -> None:
    def handle(job: Job) -> None:
        BUGS["declined"](job.data)

    added = queue.add_bulk([{"name": name, "data": n} for n, name in enumerate(["pay", "pay", "refund"])])
    worker(handle).run(until="empty")
    [group] = queue.failures()
    assert (group.count, group.names, group.error) == (3, {"pay": 2, "refund": 1}, "PaymentDeclined")
    assert group.label.startswith("PaymentDeclined: card <n> declined: ")
    assert group.place == "declined (bugs.py)"
    assert sorted(group.job_ids) == sorted(job.id for job in added)
    ends = [job.finished_on for job in queue.get_failed()]
    assert (group.first, group.last) == (min(ends), max(ends))


def test_only_the_newest_failures_are_looked_at(queue: Queue, worker: Callable[..., Worker]) -> None:
    def handle(job: Job) -> None:
        BUGS["division"](0)

    added = queue.add_bulk([{"name": "x", "data": n} for n in range(5)])
    worker(handle, concurrency=1).run(until="empty")
    [group] = queue.failures(2)
    assert sorted(group.job_ids) == sorted(job.id for job in added[-2:])


@pytest.mark.parametrize(
    ("reason", "stack", "label"),
    [
        ("", "", "an error without a text"),
        ("job stalled more than allowable limit", "null", "job stalled more than allowable limit"),
        ("child bull:mail:17 failed", "", "child bull:mail:<n> failed"),
        ("cannot reach https://api.example.org/v1/users/17?x=1", "", "cannot reach <url>"),
        ("no user ada@example.org in 'eu-1'", "", "no user <mail> in '*'"),
        ("unit 550e8400-e29b-41d4-a716-446655440000 at /srv/app/data/7.csv", "", "unit <id> at <path>"),
    ],
)
def test_failures_without_a_stack_are_known_by_their_texts(reason: str, stack: str, label: str) -> None:
    found = fingerprint(reason, stack)
    assert (found.label, found.error, found.place) == (label, "", "")
