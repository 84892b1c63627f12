"""Puts jobs in `active`, with or without a lock, as a fetch leaves them."""

import pytest

NOW = 1795225366409


@pytest.fixture
def activate(client):
    """`activate(queue, id, token)`: the newest active job; no token = the lock has expired."""

    def put(queue, job_id, token=None, **fields):
        base = f"bull:{queue}:"
        client.hset(f"{base}{job_id}", mapping={"name": "n", "data": "{}", "opts": "{}", "ats": 1, **fields})
        client.lpush(f"{base}active", job_id)
        if token is not None:
            client.set(f"{base}{job_id}:lock", token, px=30_000)

    return put
