"""Random sequences: whatever the order of the steps, our scripts leave what BullMQ leaves."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.interop.sides.pair import Pair

LIMITER = {"max": 2, "duration": 10_000}

options = st.fixed_dictionaries(
    {},
    optional={
        "delay": st.sampled_from([0, 500, 5000]),
        "priority": st.integers(0, 3),
        "lifo": st.booleans(),
        "attempts": st.integers(0, 3),
        "backoff": st.sampled_from([0, 1000, {"type": "exponential", "delay": 500}]),
        "removeOnComplete": st.sampled_from([True, 1, {"age": 2}]),
        "removeOnFail": st.sampled_from([True, False, 2, {"age": 1, "count": 1}]),
        "jobId": st.sampled_from(["mine", "yours", "a:b:c"]),
        "stackTraceLimit": st.integers(0, 2),
    },
)
workers = st.fixed_dictionaries(
    {},
    optional={
        "name": st.just("w1"),
        "limiter": st.just(LIMITER),
        "metrics": st.just({"maxDataPoints": 2}),
        "removeOnComplete": st.just({"count": 2}),
        "removeOnFail": st.just({"age": 3}),
    },
)
pick = st.integers(0, 30)
steps = st.one_of(
    st.tuples(st.just("add"), options),
    st.tuples(st.just("add_bulk"), st.lists(options, min_size=1, max_size=4)),
    st.tuples(st.just("fetch"), workers),
    st.tuples(st.just("fetch_many"), workers, st.integers(1, 4)),
    st.tuples(st.just("complete"), pick, st.booleans(), workers),
    st.tuples(st.just("fail"), pick, st.booleans(), st.booleans(), workers),
    st.tuples(st.sampled_from(["move_to_wait", "move_to_delayed", "lose_lock", "extend_lock"]), pick),
    st.tuples(st.sampled_from(["promote", "remove", "retry", "update_progress", "change_delay"]), pick),
    st.tuples(st.just("change_priority"), pick, st.integers(0, 3), st.booleans()),
    st.tuples(st.sampled_from(["pause", "resume", "retry_jobs", "promote_jobs", "stalled"])),
    st.tuples(st.sampled_from(["set_global_concurrency", "set_global_rate_limit"]), st.integers(1, 3)),
    st.tuples(st.sampled_from(["remove_global_concurrency", "remove_global_rate_limit"])),
    st.tuples(st.just("expire"), st.sampled_from(["limiter", "stalled-check"])),
    st.tuples(st.just("tick"), st.sampled_from([1, 500, 1000, 30_000, 60_000])),
)


@dataclass
class ScriptStepCalls:
    """Turns drawn steps into calls: it records which ids exist and which are active under which token."""

    pair: Pair
    ids: list[str] = field(default_factory=lambda: ["77"])
    held: dict[str, str] = field(default_factory=dict)
    fetches: int = 0

    def call(self, step: str, *args: Any) -> None:
        method = getattr(self, f"_{step}", None)
        if method:
            method(*args)
        elif step in ("promote", "remove", "retry"):
            getattr(self.pair, step)(self._any(args[0]))
        elif step in ("update_progress", "change_delay"):
            getattr(self.pair, step)(self._any(args[0]), 1500)
        else:
            getattr(self.pair, step)(*args)

    def _any(self, number: int) -> str:
        return self.ids[number % len(self.ids)]

    def _may_fetch_next(self, id: str, token: str) -> bool:
        """Our scripts fetch also after a refusal, since the other outcomes of a batch count; BullMQ does not."""
        client = self.pair.clients[0]
        base = f"bull:{self.pair.queue}:"
        return client.get(f"{base}{id}:lock") == token and client.lpos(f"{base}active", id) is not None

    def _any_held(self, number: int) -> tuple[str, str]:
        held = list(self.held.items()) or [("77", "t:none")]
        return held[number % len(held)]

    def _take(self, ids: list[str | None], token: str) -> None:
        self.held.update({id: token for id in ids if id})

    def _add(self, opts: dict[str, Any]) -> None:
        self.ids.append(self.pair.add("work", {}, **opts))

    def _add_bulk(self, all_opts: list[dict[str, Any]]) -> None:
        self.ids += self.pair.add_bulk([{"name": "work", "data": 1, "opts": opts} for opts in all_opts])

    def _fetch(self, worker: dict[str, Any]) -> None:
        self._fetch_many(worker, 1)

    def _fetch_many(self, worker: dict[str, Any], count: int) -> None:
        token = f"t:{self.fetches}"
        self.fetches += 1
        self._take(self.pair.fetch_many(count, token, **worker), token)

    def _complete(self, number: int, fetch_next: bool, worker: dict[str, Any]) -> None:
        id, token = self._any_held(number)
        fetch_next = fetch_next and self._may_fetch_next(id, token)
        result = self.pair.complete(id, {"by": token}, token, fetch_next=fetch_next, **worker)
        self.held.pop(id, None)
        self._take([result] if isinstance(result, str) else [], token)

    def _fail(self, number: int, fetch_next: bool, unrecoverable: bool, worker: dict[str, Any]) -> None:
        id, token = self._any_held(number)
        fetch_next = fetch_next and self._may_fetch_next(id, token)
        result = self.pair.fail(id, "boom", token, unrecoverable=unrecoverable, fetch_next=fetch_next, **worker)
        self.held.pop(id, None)
        self._take([result] if isinstance(result, str) else [], token)

    def _move_to_wait(self, number: int) -> None:
        id, token = self._any_held(number)
        self.pair.move_to_wait(id, token)

    def _move_to_delayed(self, number: int) -> None:
        id, token = self._any_held(number)
        self.pair.move_to_delayed(id, 700, token)

    def _lose_lock(self, number: int) -> None:
        self.pair.expire(f"{self._any_held(number)[0]}:lock")

    def _extend_lock(self, number: int) -> None:
        id, token = self._any_held(number)
        self.pair.extend_locks(60_000, {id: token})

    def _change_priority(self, number: int, priority: int, lifo: bool) -> None:
        self.pair.change_priority(self._any(number), priority, lifo)

    def _set_global_rate_limit(self, max: int) -> None:
        self.pair.set_global_rate_limit(max, 10_000)


@pytest.fixture
def new_pair(make_pair, script_side, queue_name):
    numbers = count()
    return lambda: make_pair(script_side, f"{queue_name}-{next(numbers)}")


@pytest.mark.timeout(300)
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sequence=st.lists(steps, min_size=10, max_size=50))
def test_any_sequence_leaves_the_same_state(new_pair, sequence):
    calls = ScriptStepCalls(new_pair())
    for step in sequence:
        note(repr(step))
        calls.call(*step)
