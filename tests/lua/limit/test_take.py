"""lua/limit/take.lua: all limits of a grant, or none."""

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lua.conftest import NOW
from tests.lua.limit.conftest import LEASE

GRANTED, REFUSED, NEVER = 1, 0, -1
RATE, CONCURRENCY = 1, 2


def test_a_limit_that_nobody_has_set_is_no_limit(take):
    assert take(("a", 10**9)) == [GRANTED, NOW]


def test_a_rate_allows_so_much_in_any_window(take, set_limit):
    set_limit("a", rates=[(3, 1_000)])
    assert [take(("a", 1), at=at)[0] for at in (0, 500, 900, 999)] == [1, 1, 1, 0]
    assert take(("a", 1), at=999) == [REFUSED, 2, 0, RATE], "the first one leaves the window in 2 ms"
    assert take(("a", 1), at=1_001)[0] == GRANTED
    assert take(("a", 1), at=1_002) == [REFUSED, 499, 0, RATE]


def test_two_windows_hold_both(take, set_limit):
    set_limit("a", rates=[(2, 1_000), (3, 60_000)])
    assert [take(("a", 1), at=at)[0] for at in (0, 0, 0)] == [1, 1, 0]
    assert take(("a", 1), at=2_000)[0] == GRANTED
    assert take(("a", 1), at=4_000) == [REFUSED, 56_001, 0, RATE]


def test_a_cost_that_no_window_allows_is_never_taken(take, set_limit, dump, queue):
    set_limit("a", rates=[(1_000, 1_000), (10, 500)])
    before = dump(queue)
    assert take(("a", 11)) == [NEVER, 10, 0, 0]
    assert dump(queue) == before


def test_all_limits_are_taken_or_none(take, set_limit, client, queue):
    set_limit("a", rates=[(10, 1_000)])
    set_limit("b", rates=[(1, 5_000)])
    assert take(("a", 1), ("b", 1))[0] == GRANTED
    assert take(("a", 1), ("b", 1)) == [REFUSED, 5_001, 1, RATE]
    assert client.hget(f"bull:{queue}:ext:limit-a:1000", "used") == "1"


def test_slots_are_held_until_the_holder_is_gone(take, set_limit, spend):
    set_limit("a", concurrency=2)
    assert [take(("a", 1), grant=grant)[0] for grant in ("x", "y", "z")] == [1, 1, 0]
    assert take(("a", 1), grant="z") == [REFUSED, 0, 0, CONCURRENCY]
    assert spend("x", ("a", 1)) == 1
    assert take(("a", 1), grant="z")[0] == GRANTED


def test_a_holder_whose_lease_is_over_holds_no_slot(take, set_limit, client, queue):
    set_limit("a", concurrency=1)
    take(("a", 1), grant="x")
    client.delete(f"bull:{queue}:ext:grant-x")  # as Redis does at the end of the lease
    assert take(("a", 1))[0] == GRANTED


def test_the_same_grant_is_taken_once(take, set_limit, client, queue):
    set_limit("a", rates=[(5, 1_000)])
    assert take(("a", 2), grant="x") == take(("a", 2), grant="x", at=300) == [GRANTED, NOW]
    assert client.hget(f"bull:{queue}:ext:limit-a:1000", "used") == "2"


def test_a_clock_that_is_set_back_lets_nobody_wait_longer_than_a_window(take, set_limit):
    set_limit("a", rates=[(2, 1_000)])
    take(("a", 2), at=3_600_000)
    assert take(("a", 1), at=0) == [REFUSED, 1_001, 0, RATE]
    assert take(("a", 1), at=1_001)[0] == GRANTED


def test_nothing_is_left_of_a_limit_that_nobody_uses(take, set_limit, client, queue):
    set_limit("a", concurrency=1, rates=[(2, 1_000)])
    take(("a", 1))
    ttls = {key: client.pttl(key) for key in client.keys(f"bull:{queue}:ext:*") if not key.endswith("limits")}
    names = ("grant-g0", "limit-a:1000", "limit-a:1000:slots", "limit-a:held")
    assert set(ttls) == {f"bull:{queue}:ext:{key}" for key in names}
    assert all(0 < ttl <= LEASE for ttl in ttls.values())


@pytest.mark.parametrize("arguments", [("", "g"), ("", "", 5), ("", "g", 0), ("", "g", 5, "a"), ("", "g", 5, "a", "a")])
def test_arguments_that_are_none_are_refused(run, queue, dump, arguments):
    with pytest.raises(redis.ResponseError, match="take: malformed"):
        run("limit/take", queue, *arguments)
    assert dump(queue) == {}


@pytest.mark.parametrize("cost", ["", "-1", "1.5", "many"])
def test_a_cost_that_is_no_whole_number_is_refused(run, queue, set_limit, cost):
    set_limit("a", rates=[(5, 1_000)])
    with pytest.raises(redis.ResponseError, match="take: malformed cost"):
        run("limit/take", queue, NOW, "g", 5, "a", "a", cost)


class Window:
    """A window by brute force: each use that may still count, with its time."""

    def __init__(self, most: int, window: int) -> None:
        self.most, self.window, self.uses = most, window, []

    def used(self, now: int) -> int:
        return sum(cost for at, cost in self.uses if now - at <= self.window)

    def most_used_in_any(self) -> int:
        return max((sum(c for at, c in self.uses if 0 <= end - at < self.window) for end, _ in self.uses), default=0)


STEPS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=60)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, most=st.integers(4, 9))
def test_grants_are_those_of_brute_force_and_no_window_has_more(client, queue, take, spend, set_limit, steps, most):
    for key in client.keys(f"bull:{queue}:*"):
        client.delete(key)
    set_limit("a", rates=[(most, 1_000)])
    window, at = Window(most, 1_000), 0
    for number, (ms, cost, used) in enumerate(steps):
        at += ms
        granted, *more = take(("a", cost), at=at, grant=f"s{number}")
        assert granted == (cost == 0 or window.used(at) + cost <= most), (at, cost, window.uses)
        if not granted:
            wait = more[0]
            assert window.used(at + wait) + cost <= most < window.used(at + wait - 1) + cost, "the wait is exact"
        else:
            window.uses.append((at, cost))
            if used < cost:
                assert spend(f"s{number}", ("a", used), at=at) == 1
                window.uses[-1] = (at, used)
    assert window.most_used_in_any() <= most


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 900)), min_size=1, max_size=120))
def test_a_rate_of_more_than_1000_is_never_exceeded_and_nearly_used_up(client, queue, take, set_limit, steps):
    for key in client.keys(f"bull:{queue}:*"):
        client.delete(key)
    set_limit("a", rates=[(5_000, 1_000)])
    window, coarse, at = Window(5_000, 1_000), Window(5_000, 1_010), 0
    for number, (ms, cost) in enumerate(steps):
        at += ms
        granted = take(("a", cost), at=at, grant=f"s{number}")[0]
        assert granted or coarse.used(at) + cost > 5_000, "the oldest slot counts whole: at most a hundredth longer"
        if granted:
            window.uses.append((at, cost))
            coarse.uses.append((at, cost))
    assert window.most_used_in_any() <= 5_000
