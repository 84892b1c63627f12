"""Deduplication: one job per id, what frees the id, and what is refused."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from redis import Redis

from bullrush import Queue, Worker
from bullrush.errors import InvalidOptionError, UnknownOptionError


def test_a_second_add_with_the_same_deduplication_id_returns_the_first_job(queue: Queue) -> None:
    first = queue.add("work", {"n": 1}, deduplication={"id": "d"})
    second = queue.add("work", {"n": 2}, deduplication={"id": "d"})
    assert second.id == first.id
    assert queue.get_job_counts("waiting") == {"waiting": 1, "paused": 0}
    assert queue.get_deduplication_job_id("d") == queue.get_debounce_job_id("d") == first.id


def test_a_job_has_its_deduplication_id(queue: Queue) -> None:
    added = queue.add("work", {}, deduplication={"id": "d", "ttl": timedelta(minutes=1), "keep_last_if_active": True})
    read = queue.get_job(added.id)
    assert read is not None
    for job in (added, read):
        assert job.deduplication_id == job.debounce_id == "d"
        assert job.opts["deduplication"] == {"id": "d", "ttl": 60_000, "keep_last_if_active": True}


def test_a_delayed_job_is_replaced_by_the_last_one(queue: Queue) -> None:
    rule: Any = {"id": "d", "ttl": 60_000, "replace": True, "extend": True}
    jobs = [queue.add("work", {"n": n}, delay=5000, deduplication=rule) for n in range(3)]
    assert [job.data for job in queue.get_delayed()] == [{"n": 2}]
    assert queue.get_deduplication_job_id("d") == jobs[2].id


def test_the_ttl_outlives_the_job(queue: Queue, worker: Callable[..., Worker], redis: Redis) -> None:
    queue.add("work", {}, deduplication={"id": "short"})
    queue.add("work", {}, deduplication={"id": "long", "ttl": 60_000})
    worker(lambda job: None).run(until="empty")
    assert queue.get_deduplication_job_id("short") is None
    assert queue.get_deduplication_job_id("long") is not None


def test_keep_last_if_active_runs_the_last_deduplicated_job_after_the_active_one(
    queue: Queue, worker: Callable[..., Worker]
) -> None:
    seen = []

    def handler(job: Any) -> None:
        seen.append(job.data)
        if job.data == 0:
            for n in (1, 2, 3):
                queue.add("work", n, deduplication={"id": "d", "keep_last_if_active": True})

    queue.add("work", 0, deduplication={"id": "d", "keep_last_if_active": True})
    worker(handler).run(until="empty")
    assert seen == [0, 3]
    assert queue.get_deduplication_job_id("d") is None


def test_the_id_can_be_freed(queue: Queue) -> None:
    queue.add("work", {}, deduplication={"id": "d"})
    assert (queue.remove_deduplication_key("d"), queue.remove_debounce_key("d")) == (1, 0)
    assert queue.get_deduplication_job_id("d") is None


def test_only_the_owner_frees_the_id_of_a_job(queue: Queue) -> None:
    first = queue.add("work", {}, deduplication={"id": "d"})
    queue.remove_deduplication_key("d")
    second = queue.add("work", {}, deduplication={"id": "d"})
    assert first.remove_deduplication_key() is False
    assert second.remove_deduplication_key() is True
    assert queue.add("plain", {}).remove_deduplication_key() is False


def test_a_bulk_keeps_one_job_per_id(queue: Queue) -> None:
    jobs: list[Any] = [{"name": "work", "data": n, "opts": {"deduplication": {"id": f"d{n % 3}"}}} for n in range(600)]
    added = queue.add_bulk(jobs)
    assert len(added) == 600
    assert sorted({job.id for job in added}) == sorted(job.id for job in queue.get_waiting())
    assert len({job.id for job in added}) == 3


def test_rows_of_a_table_are_deduplicated_and_have_parents(queue: Queue) -> None:
    table = pa.table({"n": list(range(400))})
    ids = queue.add_arrow(table, "row", opts={"deduplication": {"id": "table"}})
    assert len(set(ids)) == 1
    assert ids.duplicates == list(range(1, 400))
    parent = queue.add("parent", {})
    children = queue.add_arrow(table, "row", opts={"parent": {"id": parent.id, "queue": queue.qualified_name}})
    assert len(set(children)) == 400
    assert parent.get_dependencies_count() == {"processed": 0, "unprocessed": 400, "ignored": 0, "failed": 0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deduplication": {"ttl": 5}}, "Deduplication id must be provided"),
        ({"deduplication": {"id": ""}}, "Deduplication id must be provided"),
        ({"debounce": {}}, "Debounce id must be provided"),
        ({"deduplication": "d"}, "deduplication must be a dict of id, ttl, extend"),
        ({"deduplication": {"id": 7}}, "deduplication.id must be a text"),
        ({"deduplication": {"id": "d", "ttl": 0.5}}, "deduplication.ttl must be whole milliseconds"),
        ({"deduplication": {"id": "d", "extend": 1}}, "deduplication.extend must be True or False"),
    ],
)
def test_a_value_that_is_not_a_deduplication_option_is_refused(
    queue: Queue, redis: Redis, options: Any, message: str
) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        queue.add("work", {}, **options)
    assert not redis.exists(f"bull:{queue.name}:id")


def test_the_error_for_an_unknown_member_names_the_nearest_one(queue: Queue) -> None:
    with pytest.raises(UnknownOptionError, match="use 'keep_last_if_active'"):
        queue.add(
            "work",
            {},
            deduplication={"id": "d", "keepLastIfActive": True},  # type: ignore[arg-type]
        )
