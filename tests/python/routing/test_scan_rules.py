"""A scan takes a job if and only if the core says that the target matches the profile."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from bullrush._core import CoreProfile, CoreTarget
from bullrush.routing.target import Criteria
from bullrush.scripts import read_scripts

WORDS = ["a", "b", "gpu", "gpu:1", "gpu:2"]
SOME = st.lists(st.sampled_from(WORDS), max_size=3)
PROFILES = st.builds(CoreProfile, st.sampled_from([None, "me"]), SOME, SOME, SOME)
WANTED = st.lists(st.sampled_from([*WORDS, "gpu*", "gpu:*", "*"]), max_size=3)
MODES = st.sampled_from(["all", "any", "each"])
CRITERIA = st.builds(Criteria, st.sampled_from([None, None, None, "me", "you"]), SOME, WANTED, SOME, MODES)
TARGETS = st.builds(CoreTarget, CRITERIA)
SOURCE = read_scripts()["route/scan_jobs"].source


@pytest.fixture
def raw(redis_url: str) -> Iterator[Redis]:
    """A client that returns bytes."""
    with Redis.from_url(redis_url) as client:
        yield client


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(profile=PROFILES, targets=st.lists(TARGETS, min_size=1, max_size=12))
def test_a_scan_and_the_core_decide_alike(raw: Redis, profile: CoreProfile, targets: list[Any]) -> None:
    base = f"bull:rules-{uuid.uuid4().hex}:"
    for number, target in enumerate(targets):
        # As our producers write a target, and as other clients do.
        own = {"tgt": target.canonical} if number % 2 else {}
        opts = "{}" if own else json.dumps({"target": json.loads(target.canonical)}, separators=(",", ":"))
        raw.hset(f"{base}{number}", mapping={"name": "n", "data": "{}", "opts": opts, "timestamp": 1, **own})
        raw.lpush(f"{base}wait", number)
    size = len(targets)
    raw.eval(SOURCE, 1, f"{base}meta", 1, "t", 1000, "", "", "", size, size, "", 0, 100, profile.canonical)
    taken = {int(number) for number in raw.lrange(f"{base}active", 0, -1)}
    raw.delete(*raw.scan_iter(f"{base}*", count=1000))
    assert taken == {number for number, target in enumerate(targets) if target.matches(profile)}
