"""Many queues are read in a few round trips, and say the same as each one alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker
from bullrush.extending import now_ms, run_blocking
from bullrush.inspection import DueWork, Overview, due_work, overviews


@pytest.fixture
def queues(queue_name: str, redis_url: str) -> Iterator[dict[str, Queue]]:
    """Queues in all kinds of states, one of which has never been used."""
    with ExitStack() as opened:

        def queue(kind: str) -> Queue:
            return opened.enter_context(Queue(f"{queue_name}~{kind}", url=redis_url, skip_metas_update=True))

        made = {kind: queue(kind) for kind in ("broken", "unused", "waiting", "paused", "delayed", "limited", "ended")}
        for kind in ("waiting", "paused", "limited", "ended", "broken"):
            made[kind].add("first")
            made[kind].add("urgent", priority=3)
        made["delayed"].add("later", delay=3_600_000)
        made["paused"].pause()
        made["limited"].set_global_concurrency(1)
        made["limited"].set_global_rate_limit(5, 60_000)

        def fail(job: Any) -> None:
            raise ValueError(job.name)

        with Worker(made["ended"].name, fail, url=redis_url) as worker:
            worker.run(until="empty")
        yield made


def read(queues: dict[str, Queue], lately: int = 0) -> dict[str, Overview]:
    return dict(zip(queues, run_blocking(overviews(list(queues.values()), lately)), strict=True))


def still(work: DueWork) -> dict[str, Any]:
    """What does not change while time passes, of a queue where jobs wait."""
    return {name: value for name, value in vars(work).items() if not name.endswith("_age") and name != "period_left"}


def test_a_queue_among_many_is_as_it_is_alone(queues: dict[str, Queue]) -> None:
    for kind, seen in read(queues).items():
        counts = queues[kind].get_job_counts()
        assert still(seen.work) == still(run_blocking(due_work(queues[kind].core))), kind
        assert (seen.active, seen.delayed, seen.completed, seen.failed, seen.waiting_children) == tuple(
            counts[state] for state in ("active", "delayed", "completed", "failed", "waiting-children")
        ), kind
        assert seen.error is None, kind


def test_jobs_that_failed_lately_are_counted(queues: dict[str, Queue]) -> None:
    assert read(queues)["ended"].failed_lately == 2
    assert read(queues, now_ms() + 1_000)["ended"].failed_lately == 0


def test_a_queue_that_cannot_be_read_hides_no_other(queues: dict[str, Queue], redis: Redis) -> None:
    redis.delete(queues["broken"].to_key("prioritized"))
    redis.set(queues["broken"].to_key("prioritized"), "of another program")
    seen = read(queues)
    assert seen["broken"].error is not None and seen["broken"].error.code == "WRONGTYPE"
    assert seen["waiting"].work.waiting == 2 and seen["waiting"].error is None
