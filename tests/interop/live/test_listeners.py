"""A worker's own listeners see the same job in Node and here, whatever its outcome."""

from typing import Any

import pytest

from bullrush import Worker
from tests.waiting import wait_until

from .our_worker import our_worker

LATER = {"attempts": 3, "backoff": {"type": "fixed", "delay": 50}}


def noted(worker: Worker) -> list[list[Any]]:
    """Record what listeners see, like ``noteJobs`` in node/live.js."""
    seen: list[list[Any]] = []

    def note(event: str, job: Any, detail: Any = None) -> None:
        told = [str(detail), type(detail).__name__] if event == "failed" else detail
        ended = [job.attempts_made, job.attempts_started, len(job.stacktrace), job.finished_on is not None]
        outcome = [job.failed_reason, job.returnvalue, told]
        seen.append([event, job.id, job.data, job.progress, job.delay, *ended, *outcome])

    for event in ("active", "progress", "completed", "failed"):
        worker.on(event, lambda *arguments, event=event: note(event, *arguments))
    return seen


def alike(seen: list[list[Any]], job_id: str) -> list[list[Any]]:
    """Return what was seen of one job, without its id and with one name for any language's plain error.

    First what handlers tell, then outcomes: here these come from two threads, and a job that is retried at once may be
    active again before its failure is told.
    """
    rows = [row[:1] + row[2:] for row in seen if row[1] == job_id]
    rows.sort(key=lambda row: row[0] in {"completed", "failed"})
    for row in rows:
        if row[0] == "failed" and row[-1][1] in {"Error", "RuntimeError"}:
            row[-1] = [row[-1][0], "plain"]
    return rows


@pytest.mark.parametrize(
    ("runs", "opts"),
    [
        ([[["update_data", {"step": 1}], ["progress", 40], ["return", {"ok": 1}]]], {}),
        ([[["update_data", {"step": 1}], ["progress", 40], ["throw", "boom"]]], {}),
        (
            [[["progress", 10], ["throw", "one"]], [["update_data", {"step": 2}], ["throw", "two"]], [["return", 3]]],
            LATER,
        ),
        ([[["throw", "one"]], [["return", 2]]], {"attempts": 2}),
        ([[["unrecoverable", "never"]]], LATER),
        ([[["delay", 20]], [["return", 1]]], {}),
        ([[["throw", "one"]], [["throw", "two"]]], {"attempts": 2, "stackTraceLimit": 1}),
    ],
)  # fmt: skip
def test_listeners_see_the_same_job(
    runs: list[Any], opts: dict[str, Any], ours: Any, theirs: Any, queue_name: str, redis_url: str
) -> None:
    with theirs.worker() as worker:
        first = theirs.add("n", {"runs": runs}, **opts)
        wait_until(lambda: theirs.on_job(first, "getState") in {"completed", "failed"})
        wait_until(lambda: theirs.worker_seen(worker)[-1][0] in {"completed", "failed"})
        expected = theirs.worker_seen(worker)
    with our_worker(queue_name, redis_url) as our:
        seen = noted(our)
        second = theirs.add("n", {"runs": runs}, **opts)
        wait_until(lambda: theirs.on_job(second, "getState") in {"completed", "failed"})
    assert alike(seen, second) == alike(expected, first)


@pytest.mark.parametrize("field", [("defa", "child failed"), ("ats", 7)])
def test_listeners_are_told_of_jobs_that_must_not_run(
    field: tuple[str, Any], ours: Any, theirs: Any, queue_name: str, redis_url: str, redis: Any
) -> None:
    def add() -> str:
        ours.pause()
        job_id: str = theirs.add("n", {})
        redis.hset(f"bull:{queue_name}:{job_id}", *field)
        ours.resume()
        return job_id

    with theirs.worker(maxStartedAttempts=3) as worker:
        first = add()
        wait_until(lambda: len(theirs.worker_seen(worker)) == 2)
        expected = theirs.worker_seen(worker)
    with our_worker(queue_name, redis_url, max_started_attempts=3) as our:
        seen = noted(our)
        second = add()
        wait_until(lambda: len(seen) == 2)
    assert alike(seen, second) == alike(expected, first)
