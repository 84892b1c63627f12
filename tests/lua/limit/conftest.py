"""Limits that are set, and grants of them, on a clock of the test."""

import itertools
import json

import pytest

from tests.lua.conftest import NOW

LEASE = 60_000


@pytest.fixture
def set_limit(client, queue):
    """`set_limit(name, concurrency=None, rates=())`: sets a limit as the core does."""

    def call(name, concurrency=None, rates=()):
        said = {"rates": [list(rate) for rate in rates]} | ({"concurrency": concurrency} if concurrency else {})
        client.hset(f"bull:{queue}:ext:limits", name, json.dumps(said))

    return call


@pytest.fixture
def take(run, queue):
    """`take(("name", cost)..., at=ms, grant=id)`: takes a grant; each has a new id if none is given."""
    numbers = itertools.count()

    def call(*limits, at=0, grant=None, lease=LEASE):
        parts = [part for name, cost in limits for part in (name, name, cost)]
        return run("limit/take", queue, NOW + at, grant or f"g{next(numbers)}", lease, *parts)

    return call


@pytest.fixture
def spend(run, queue):
    """`spend(grant, (name, used)..., at=ms)`: settles a grant."""

    def call(grant, *limits, at=0):
        parts = [part for name, used in limits for part in (name, name, used)]
        return run("limit/spend", queue, NOW + at, grant, *parts)

    return call
