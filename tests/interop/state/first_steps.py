"""The first steps of many sequences: a job that is added and fetched."""

from typing import Any

from tests.interop.sides.pair import Pair


def start(pair: Pair, *, token: str = "t:0", **opts: Any) -> str:
    """Add a job, fetch it on both sides and return its id."""
    id: str = pair.add("work", {}, **opts)
    assert pair.fetch(token) == id
    return id


def start_in_bullmq(pair: Pair, *, token: str = "t:0", **opts: Any) -> str:
    """Add a job and let real BullMQ fetch it on both sides; return its id."""
    id: str = pair.add("work", {}, **opts)
    assert pair.foreign_fetch(token) == id
    return id
