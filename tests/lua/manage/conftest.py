"""Puts jobs into the states that the manage scripts act on, as the other scripts leave them."""

import json

import pytest

NOW = 1795225366409
SETS = ("delayed", "prioritized", "completed", "failed", "waiting-children", "repeat")


@pytest.fixture
def store(client, queue):
    """`store(id, state, score=0, **fields)`: a job's hash, and its id in the list (as newest) or set of that state."""

    def put(job_id, state=None, score=0, queue=queue, **fields):
        base = f"bull:{queue}:"
        client.hset(f"{base}meta", "opts.maxLenEvents", 10000)
        client.hset(
            f"{base}{job_id}",
            mapping={"name": "n", "data": "{}", "opts": "{}", "timestamp": NOW, "delay": 0, "priority": 0, **fields},
        )
        if state in SETS:
            client.zadd(f"{base}{state}", {job_id: score})
        elif state:
            client.lpush(f"{base}{state}", job_id)

    return put


@pytest.fixture
def add_child(client, queue):
    """`add_child(parent_id, child_id)`: links two stored jobs, by default of the test's queue."""

    def link(parent_id, child_id, parent_queue=queue, child_queue=queue):
        parent_key, child_key = f"bull:{parent_queue}:{parent_id}", f"bull:{child_queue}:{child_id}"
        parent = json.dumps({"id": parent_id, "queueKey": f"bull:{parent_queue}"})
        client.hset(child_key, mapping={"parentKey": parent_key, "parent": parent})
        client.sadd(f"{parent_key}:dependencies", child_key)

    return link


@pytest.fixture
def pause(client, queue):
    """Marks the test's queue as paused; scripts read nothing else."""
    return lambda: client.hset(f"bull:{queue}:meta", "paused", 1)
