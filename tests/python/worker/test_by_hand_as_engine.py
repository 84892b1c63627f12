"""A job that is processed by hand ends in the same state of Redis as one that a running worker has."""

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker
from bullrush.errors import UnrecoverableError
from bullrush.extending import stop_clock

#: In each of the queues; there are 20 pairs of queues, so 500 in all.
JOBS = 25
OPTIONS: dict[str, Any] = {
    "max_error_size": 200,
    "payload_limit": 2_000,
    "backoff_strategy": lambda made, kind, error, job: {"later": 5_000, "never": -1}.get(kind, 0),
    "remove_on_fail": {"count": 3},
    "max_started_attempts": 3,
    "name": "same",
}


def handler_of(seed: int) -> Any:
    """Return a handler whose outcome follows from the id of the job and its attempt."""

    def handler(job: Job) -> object:
        chance = random.Random(f"{seed} {job.id} {job.attempts_made}")
        match chance.randrange(8):
            case 0:
                return "x" * chance.choice([10, 1_990, 2_500])
            case 1:
                raise ValueError("é" * chance.choice([3, 90, 400]))
            case 2:
                raise UnrecoverableError("no more")
            case 3:
                raise RuntimeError
            case 4:
                return {"number": chance.random()}
            case _:
                raise KeyError("again")

    return handler


def jobs_of(seed: int) -> list[Any]:
    chance = random.Random(seed)
    keep = [True, False, 2, {"count": 1}, {"age": 3_600, "count": 5}, None]
    backoffs = [
        None,
        0,
        1_000,
        {"type": "later"},
        {"type": "never"},
        {"type": "now"},
        {"type": "exponential", "delay": 9},
    ]
    return [
        {
            "name": chance.choice(["a", "b"]),
            "data": {"n": number, "pad": "x" * chance.choice([0, 0, 3_000])},
            "opts": {
                "attempts": chance.randrange(1, 5),
                "backoff": chance.choice(backoffs),
                "remove_on_complete": chance.choice(keep),
                "remove_on_fail": chance.choice(keep),
                "stack_trace_limit": chance.choice([None, 0, 1]),
                "lifo": chance.random() < 0.2,
                "wake": chance.random() < 0.2,
                "priority": chance.choice([0, 0, 0, 5]),
            },
        }
        for number in range(JOBS)
    ]


def state_of(redis: Redis, queue: Queue) -> dict[str, Any]:
    """Return all keys of a queue, without what differs between two workers: tokens, ids of entries, line numbers."""
    found: dict[str, Any] = {}
    for key in redis.scan_iter(f"bull:{queue.name}:*"):
        name, kind = str(key).removeprefix(f"bull:{queue.name}:"), redis.type(key)
        if kind == "stream":
            entries: Any = redis.xrange(key)
            found[name] = [fields for _, fields in entries if fields["event"] != "drained"]
        elif kind == "hash":
            fields: Any = redis.hgetall(key)
            found[name] = sorted(fields.items())  # a large hash has no order
        elif kind == "list":
            found[name] = redis.lrange(key, 0, -1)
        elif kind == "zset":
            found[name] = redis.zrange(key, 0, -1, withscores=True)
        else:
            found[name] = kind
    return {
        name: re.sub(r"line \d+", "line", repr(value).replace(queue.name, "Q"))
        for name, value in found.items()
        if name not in {"marker", "stalled-check", "stalled"}
    }


@pytest.fixture
def running_clock() -> Iterator[None]:
    yield
    stop_clock(None)


@pytest.mark.parametrize("seed", range(20))
def test_the_same_outcomes_leave_the_same_state(
    redis: Redis, redis_url: str, queue_name: str, seed: int, running_clock: None
) -> None:
    states = []
    for by_hand in (False, True):
        with (
            Queue(f"{queue_name}-{by_hand}", url=redis_url) as queue,
            Worker(queue.name, handler_of(seed), url=redis_url, prefetch=0, **OPTIONS) as worker,
        ):
            stop_clock(1_900_000_000_000)
            queue.add_bulk(jobs_of(seed))
            if by_hand:
                token = 0
                while (job := worker.get_next_job(f"t{token}", block=False)) is not None:
                    worker.process_job(job)
                    token += 1
            else:
                worker.run(until="empty", signals=False)
            states.append(state_of(redis, queue))
    running, by_hand_state = states
    assert by_hand_state == running
