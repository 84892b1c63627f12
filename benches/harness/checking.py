"""Checks in Redis that a peer did its work: without this no figure counts."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benches.harness.payload import NAME, SMALL, payload
from benches.harness.peer import PeerError
from benches.harness.server import BenchServer

#: How many jobs are read and compared in full.
_SAMPLE = 200
#: The queue's own keys beside its jobs; ``stalled`` and ``stalled-check`` belong to every worker.
_QUEUE_KEYS = frozenset({"meta", "id", "events", "marker", "wait", "completed", "stalled", "stalled-check"})
_LISTS = ("wait", "active", "paused")
_SETS = ("prioritized", "delayed", "completed", "failed", "waiting-children")


@dataclass(frozen=True)
class Expected:
    """The expected content of each queue after processing.

    Attributes:
        jobs: how many jobs.
        handled: how many runs of the handler there were, over all queues.
        payload: bytes of data in each job; None: it has other data.
        children: how many each flow has; 0: there are none.
    """

    jobs: int
    handled: int
    payload: int | None = SMALL
    children: int = 0


def check_added(server: BenchServer, queue: str, jobs: int, size: int = SMALL, ordered: bool = True) -> None:
    """Check that exactly these jobs wait in a queue, with their data, and that there is nothing else.

    Args:
        server: where.
        queue: the queue's name.
        jobs: how many.
        size: bytes of data in each, about.
        ordered: ids and data must be in the order of adding; otherwise any order and any ids are right.

    Raises:
        PeerError: the check fails.
    """
    _check_counts(server, queue, {"wait": jobs})
    ids = [str(job_id, "utf-8") for job_id in server.command("LRANGE", f"bull:{queue}:wait", 0, -1)]
    _check(queue, "different ids", len(set(ids)), jobs)
    if ordered:
        _check(queue, "ids in order of adding", ids[::-1], [str(number + 1) for number in range(jobs)])
    _check_keys(server, [queue], jobs)
    some = random.sample(ids, min(_SAMPLE, jobs))
    for job_id, job in zip(some, server.hashes(f"bull:{queue}:{job_id}" for job_id in some), strict=True):
        index = int(job_id) - 1 if ordered else int(json.loads(job["data"])["order"])
        _check_job(queue, index, job, size)


def check_flows_added(server: BenchServer, queue: str, flows: int, children: int) -> None:
    """Check that all parents wait for their children, and all children wait.

    Raises:
        PeerError: the check fails.
    """
    _check_counts(server, queue, {"waiting-children": flows, "wait": flows * children})
    parents = server.command("ZRANGE", f"bull:{queue}:waiting-children", 0, _SAMPLE)
    for parent in parents:
        pending = server.command("SCARD", f"bull:{queue}:{str(parent, 'utf-8')}:dependencies")
        _check(queue, "children a parent waits for", pending, children)


def check_processed(server: BenchServer, queues: Sequence[str], expected: Expected, *, finished: bool = True) -> None:
    """Check that all jobs of the queues have run once and are completed, and that no job is locked or active.

    Args:
        server: where.
        queues: all of them.
        expected: what each has to have.
        finished: no job may be left; otherwise some may still wait, but none may be active.

    Raises:
        PeerError: the check fails.
    """
    completed = sum(int(server.command("ZCARD", f"bull:{queue}:completed")) for queue in queues)
    _check(queues[0], "runs of the handler", expected.handled, completed)
    for queue in queues:
        own = int(server.command("ZCARD", f"bull:{queue}:completed"))
        waiting = 0 if finished else expected.jobs - own
        _check_counts(server, queue, {"completed": expected.jobs - waiting, "wait": waiting})
        for job in server.hashes(f"bull:{queue}:{job_id}" for job_id in _finished(server, queue)):
            _check_outcome(queue, job, expected)
    parents = len(queues) * expected.jobs // (1 + expected.children) if expected.children else 0
    _check_keys(server, queues, len(queues) * expected.jobs + parents)


def _finished(server: BenchServer, queue: str) -> list[str]:
    ids = [str(job_id, "utf-8") for job_id in server.command("ZRANGE", f"bull:{queue}:completed", 0, -1)]
    return random.sample(ids, min(_SAMPLE, len(ids)))


def _check_outcome(queue: str, job: Mapping[str, str], expected: Expected) -> None:
    if expected.payload is not None:
        _check_job(queue, int(json.loads(job["data"])["order"]), job, expected.payload)
    outcome = (job.get("returnvalue"), job.get("atm"), job.get("ats"), job.get("failedReason"))
    _check(queue, "a job's outcome", outcome, ("null", "1", "1", None))
    _check(queue, "a job's times", int(job["finishedOn"]) >= int(job["processedOn"]) >= int(job["timestamp"]), True)


def _check_counts(server: BenchServer, queue: str, expected: Mapping[str, int]) -> None:
    for state in _LISTS + _SETS:
        command = "LLEN" if state in _LISTS else "ZCARD"
        count = server.command(command, f"bull:{queue}:{state}")
        _check(queue, f"jobs in {state}", count, expected.get(state, 0))


def _check_keys(server: BenchServer, queues: Sequence[str], jobs: int) -> None:
    """Find locks or lists that remain: every key must be a queue's own, a job's hash or a parent's `processed`."""
    own = sum(server.command("EXISTS", f"bull:{queue}:{name}") for queue in queues for name in _QUEUE_KEYS)
    if server.command("DBSIZE") != own + jobs:
        # An idle process of another peer may have written its own keys, and bullrush keeps what belongs to a run or a
        # batch beside the queue's.
        _check(queues[0], "keys", server.count("bull:*") - server.count("bull:*:ext:*"), own + jobs)


def _check_job(queue: str, index: int, job: Mapping[str, str], size: int) -> None:
    _check(queue, "a job's name", job.get("name"), NAME)
    _check(queue, "a job's data", json.loads(job.get("data", "null")), payload(index, size))
    _check(queue, "a job's options", isinstance(json.loads(job.get("opts", "null")), dict), True)


def _check(queue: str, what: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise PeerError(f"{queue}: {what}: {_short(found)} instead of {_short(expected)}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
