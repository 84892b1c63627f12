"""The attempts of a job are remembered as the event stream tells them, to the ms; what was not seen is a gap."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from redis import Redis

from bullrush import FlowProducer, Job, Queue, Worker
from bullrush.recorder import History
from bullrush.recorder.attempts import Outcome
from tests.python.recorder.recording import Recording
from tests.waiting import wait_until


def stream(redis: Redis, queue: Queue, job_id: str) -> list[tuple[str, int]]:
    """Return the events of a job and their times, as Redis has them."""
    entries: Any = redis.xrange(queue.to_key("events"))
    return [(fields["event"], int(id.split("-")[0])) for id, fields in entries if fields.get("jobId") == job_id]


def ended(history: History, queue: Queue, job: Job, outcome: Outcome = "completed") -> None:
    """Wait until the history knows the end of a job."""
    wait_until(lambda: history.find(queue.name, job_id=job.id, outcome=outcome))


def test_errors_a_stall_and_back_offs_are_recorded_to_the_ms(
    queue: Queue, redis: Redis, worker: Callable[..., Worker], recording: Recording
) -> None:
    def handle(job: Job) -> None:
        if job.attempts_started == 2:
            redis.delete(queue.to_key(f"{job.id}:lock"))
            wait_until(lambda: redis.hget(queue.to_key(job.id), "stc"))
        elif job.attempts_started < 4:
            raise ValueError("not yet")

    with recording() as history:
        job = queue.add("pay", attempts=5, backoff=30)
        worker(handle, stalled_interval=50, lock_duration=2_000, prefetch=0).run(until="drained")
        ended(history, queue, job)
        attempts = history.attempts(queue.name, job.id)
        told = stream(redis, queue, job.id)
        processed_on = queue.get_job(job.id).processed_on
        bars = history.waterfall(queue.name, job.id, processed_on)
    at: dict[str, list[int]] = {}
    for event, ms in told:
        at.setdefault(event, []).append(ms)
    assert [one.outcome for one in attempts] == ["retried", "stalled", "retried", "completed"]
    assert [one.number for one in attempts] == [1, 2, 3, 4]
    assert {one.name for one in attempts} == {"pay"}
    assert [one.claimed for one in attempts] == at["active"]
    assert [one.ended for one in attempts] == [at["delayed"][0], at["stalled"][0], at["delayed"][1], at["completed"][0]]
    assert [one.before for one in attempts] == ["wait", "delay", "wait", "delay"]
    assert [one.ready for one in attempts] == at["waiting"]
    assert [bar.doing for bar in bars if bar.begin != bar.end and bar.doing not in ("wait", "claimed")] == [
        "run", "back-off", "stall", "run", "back-off", "run",
    ]  # fmt: skip
    assert [bar.outcome for bar in bars if bar.outcome] == ["retried", "stalled", "retried", "completed"]
    last = bars[-1]
    assert (last.doing, last.begin, last.end) == ("run", processed_on, at["completed"][0])
    assert bars[0].begin == at["added"][0]


def test_a_parent_waits_for_its_children(
    queue: Queue, redis: Redis, redis_url: str, worker: Callable[..., Worker], recording: Recording
) -> None:
    """Two levels of children in the same queue."""
    with recording() as history, FlowProducer(url=redis_url) as flows:
        leaf = {"name": "leaf", "queue_name": queue.name}
        middle = {"name": "middle", "queue_name": queue.name, "children": [leaf, leaf]}
        tree = flows.add({"name": "top", "queue_name": queue.name, "children": [middle]})
        worker(lambda job: None).run(until="drained")
        ended(history, queue, tree.job)
        bars = history.waterfall(queue.name, tree.job.id)
        below = history.waterfall(queue.name, tree.children[0].job.id)
        told = dict(stream(redis, queue, tree.job.id))
    assert (bars[0].doing, bars[0].begin, bars[0].end) == ("children", told["added"], told["waiting"])
    assert below[0].doing == "children" and below[-1].end is not None and below[-1].end <= told["waiting"]


def test_a_job_that_is_claimed_ahead_stands_as_claimed_until_it_starts(
    queue: Queue, worker: Callable[..., Worker], recording: Recording
) -> None:
    with recording() as history:
        jobs = queue.add_bulk([{"name": "n"}] * 2)
        wait_until(lambda: history.attempts(queue.name, jobs[1].id))

        def handle(job: Job) -> None:
            wait_until(lambda: [one for one in history.attempts(queue.name, jobs[1].id) if one.claimed])
            wait_until(lambda: time.time() * 1000 > job.processed_on + 1)  # a bar has at least a ms

        worker(handle, concurrency=1, prefetch=2).run(until="drained")
        ended(history, queue, jobs[1])
        started = queue.get_job(jobs[1].id).processed_on
        bars = history.waterfall(queue.name, jobs[1].id, started)
    assert [bar.doing for bar in bars] == ["wait", "claimed", "run"]
    assert bars[-2].end == bars[-1].begin == started and bars[-2].doing == "claimed"


def test_after_a_trim_the_unknown_part_is_a_gap(
    queue: Queue, redis: Redis, worker: Callable[..., Worker], recording: Recording
) -> None:
    """The recorder stops while a job waits; its first attempt is trimmed, its second one is seen."""
    with recording() as history:
        job = queue.add("n", attempts=2, backoff=1)
        wait_until(lambda: history.attempts(queue.name, job.id))
        [before] = history.attempts(queue.name, job.id)

    def handle(job: Job) -> None:
        if job.attempts_started == 1:
            raise ValueError("unseen")
        redis.xtrim(queue.to_key("events"), maxlen=1, approximate=False)

    worker(handle).run(until="drained")
    [(oldest, _), *_] = redis.xrange(queue.to_key("events"))
    with recording() as history:
        ended(history, queue, job)
        known = history.remembered(queue.name)
        bars = history.waterfall(queue.name, job.id)
    assert known is not None and [until for _, until in known.gaps] == [int(oldest.split("-")[0])]
    doing = [bar.doing for bar in bars if bar.begin != bar.end]
    assert "gap" in doing and set(doing) <= {"wait", "gap", "run"} and doing.count("gap") == 1
    gap = next(bar for bar in bars if bar.doing == "gap")
    assert (gap.begin, gap.end) == known.gaps[0] and gap.begin == before.ready


def test_a_recorder_that_was_stopped_has_no_gap_if_the_stream_kept_everything(
    queue: Queue, worker: Callable[..., Worker], recording: Recording
) -> None:
    with recording() as history:
        job = queue.add("n")
        wait_until(lambda: history.attempts(queue.name, job.id))
    worker(lambda job: None).run(until="drained")
    with recording() as history:
        ended(history, queue, job)
        known = history.remembered(queue.name)
        bars = history.waterfall(queue.name, job.id)
    assert known is not None and known.gaps == []
    assert "gap" not in {bar.doing for bar in bars}


def test_a_job_that_is_retried_by_hand_begins_another_attempt(
    queue: Queue, worker: Callable[..., Worker], recording: Recording
) -> None:
    fails = [True]

    def handle(job: Job) -> None:
        if fails:
            raise ValueError("no such user 17")

    with recording() as history:
        job = queue.add("welcome")
        worker(handle).run(until="drained")
        fails.clear()
        queue.get_job(job.id).retry()
        worker(handle).run(until="drained")
        ended(history, queue, job)
        first, second = history.attempts(queue.name, job.id)
    assert (first.outcome, second.outcome, second.number, second.name) == ("failed", "completed", 2, "welcome")
    assert first.fingerprint and not second.fingerprint
