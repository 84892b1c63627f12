"""The end of a round: all must be done in time, all are awake, every process ends, and Node finishes what is left."""

import time
from typing import TYPE_CHECKING, Any

from redis import Redis

from .processes import CONCURRENCY, LOCK_MS, STALLED_INTERVAL_MS

if TYPE_CHECKING:
    from .round import Round

#: Longest time in which all jobs must be done when the faults are over and no job comes any more.
DRAIN_SECONDS = LOCK_MS / 1000 + 2 * STALLED_INTERVAL_MS / 1000 + 60
#: A worker that has room must begin a job within this time (s), while the other jobs that it runs take BUSY_MS.
PICK_UP_SECONDS = 3.0
BUSY_MS = 10_000


def drain(round: "Round") -> None:
    """No job comes any more; all that there are must be done in time."""
    round.end(round.processes.producers)
    round.drain_began = time.monotonic()
    left: list[str] = []

    def is_drained() -> bool:
        left[:] = round.topology.retried(lambda redis: undone(redis, round.queue))
        return not left

    try:
        round.wait(is_drained, DRAIN_SECONDS, "all jobs are done")
    except AssertionError:
        states = round.topology.retried(lambda redis: [state_of(redis, round.queue, job) for job in left[:5]])
        round.findings.wrong(f"{len(left)} jobs are stuck: {states}")
    round.say(f"drained in {time.monotonic() - round.drain_began:.1f} s")


def probe(round: "Round") -> None:
    """Our workers get jobs that take a while, and keep a few free slots. Then somebody must begin single jobs at once.

    Spark's tasks end while jobs run.
    """
    others = [process for process in round.processes.workers if process.kind in ("node", "spark")]
    round.end(others)
    ours = [process for process in round.processes.workers if process is not round.odd.process]
    for process in ours:
        late = process.footprint()
        if process.early and late:
            round.findings.footprints.append((process.kind, *process.early, *late))
    busy = round.add(len(ours) * CONCURRENCY - 5, {"ms": BUSY_MS})
    try:
        round.wait(lambda: busy <= set().union(*map(round.begun_by, ours)), PICK_UP_SECONDS + 5, "free slots are used")
    except AssertionError as error:
        round.findings.wrong(str(error))
    for _ in range(12):
        time.sleep(round.chance.uniform(0.1, 0.3))  # the worker of the last one has looked for more and waits again
        began = time.monotonic()
        (key,) = round.add(1, {})
        while (waited := waited_since(round, began)) < PICK_UP_SECONDS and not any(
            key in round.begun_by(process) for process in ours
        ):
            time.sleep(0.01)
        round.findings.pick_ups.append(time.monotonic() - began)
        if waited >= PICK_UP_SECONDS:
            round.findings.wrong(f"a single job waited {waited:.1f} s for workers that had room")
            return


def waited_since(round: "Round", began: float) -> float:
    """Return the seconds since then, without those that the machine took."""
    now = time.monotonic()
    return now - began - round.heartbeat.lost(began, now)


def end_ours(round: "Round") -> None:
    """Our workers end in the middle of their work."""
    round.add(150, {"ms": 50})
    time.sleep(0.2)
    round.wait(lambda: not round.odd.undone(), 60, "the odd jobs are done")
    for process in round.leaving:
        round.processes.workers.append(process)
    round.end(round.processes.workers)


def let_node_finish(round: "Round") -> None:
    """BullMQ for Node finishes what is left."""
    round.add(100, {})
    round.processes.start_worker("node", "both")
    round.wait(
        lambda: not round.topology.retried(lambda redis: undone(redis, round.queue)),
        60,
        "Node has finished what was left",
    )
    round.end(round.processes.workers)


def state_of(redis: "Redis[str]", queue: str, job: str) -> dict[str, Any]:
    """Return what Redis knows of a job that is stuck, and of the children that it waits for."""
    place, _, job_id = job.partition(" ")
    key = f"bull:{queue}:{job_id}"
    children = {child: redis.hgetall(child) for child in redis.smembers(f"{key}:dependencies")}
    return {"place": place, "id": job_id, **redis.hgetall(key), "waits for": children}


def undone(redis: "Redis[str]", queue: str) -> list[str]:
    """Return some of the jobs that have no outcome yet, with their places."""
    base, found = f"bull:{queue}:", []
    for place in ("wait", "active", "paused"):
        found += [f"{place} {job}" for job in redis.lrange(base + place, 0, 4)]
    for place in ("delayed", "prioritized", "waiting-children"):
        found += [f"{place} {job}" for job in redis.zrange(base + place, 0, 4)]
    return found
