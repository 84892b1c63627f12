"""Checks in Redis that a peer did what it was asked to: no figure counts without it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

from benches.harness.payload import NAME, payload
from benches.harness.peer import PeerError
from benches.harness.server import BenchServer

#: How many jobs are read and compared in full.
_SAMPLE = 200
#: The queue's own keys beside its jobs; ``stalled`` and ``stalled-check`` belong to every worker.
_QUEUE_KEYS = frozenset({"meta", "id", "events", "marker", "wait", "completed", "stalled", "stalled-check"})
_LISTS = ("wait", "active", "paused")
_SETS = ("prioritized", "delayed", "completed", "failed", "waiting-children")


def check_added(server: BenchServer, queue: str, jobs: int) -> None:
    """Check that just these jobs wait in a queue, with their data, and that nothing else is there.

    Raises:
        PeerError: that is not so.
    """
    _check_counts(server, queue, {"wait": jobs})
    ids = [str(job_id, "utf-8") for job_id in server.command("LRANGE", f"bull:{queue}:wait", 0, -1)]
    _check(queue, "ids in order of adding", ids[::-1], [str(number + 1) for number in range(jobs)])
    _check_keys(server, queue, jobs)
    for index, job in _sample(server, queue, jobs):
        _check_job(queue, index, job)


def check_processed(server: BenchServer, queue: str, jobs: int, handled: int) -> None:
    """Check that all jobs of a queue have run once and are completed, and that no claim is left.

    Raises:
        PeerError: that is not so.
    """
    _check(queue, "runs of the handler", handled, jobs)
    _check_counts(server, queue, {"completed": jobs})
    _check_keys(server, queue, jobs)
    for index, job in _sample(server, queue, jobs):
        _check_job(queue, index, job)
        outcome = (job.get("returnvalue"), job.get("atm"), job.get("ats"), job.get("failedReason"))
        _check(queue, "a job's outcome", outcome, ("null", "1", "1", None))
        _check(queue, "a job's times", int(job["finishedOn"]) >= int(job["processedOn"]) >= int(job["timestamp"]), True)


def _check_counts(server: BenchServer, queue: str, expected: Mapping[str, int]) -> None:
    for state in _LISTS + _SETS:
        command = "LLEN" if state in _LISTS else "ZCARD"
        count = server.command(command, f"bull:{queue}:{state}")
        _check(queue, f"jobs in {state}", count, expected.get(state, 0))


def _check_keys(server: BenchServer, queue: str, jobs: int) -> None:
    """A lock or a list that stays behind shows here: every key is either one of the queue's or a job's hash."""
    own = 0
    for name in _QUEUE_KEYS:
        own += server.command("EXISTS", f"bull:{queue}:{name}")
    _check(queue, "keys", server.command("DBSIZE"), own + jobs)


def _sample(server: BenchServer, queue: str, jobs: int) -> list[tuple[int, dict[str, str]]]:
    indexes = random.sample(range(jobs), min(_SAMPLE, jobs))
    hashes = server.hashes(f"bull:{queue}:{index + 1}" for index in indexes)
    return list(zip(indexes, hashes, strict=True))


def _check_job(queue: str, index: int, job: Mapping[str, str]) -> None:
    _check(queue, "a job's name", job.get("name"), NAME)
    _check(queue, "a job's data", json.loads(job.get("data", "null")), payload(index))
    _check(queue, "a job's options", isinstance(json.loads(job.get("opts", "null")), dict), True)


def _check(queue: str, what: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise PeerError(f"{queue}: {what}: {_short(found)} instead of {_short(expected)}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
