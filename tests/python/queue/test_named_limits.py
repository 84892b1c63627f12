"""Limits with a name: queues and programs share them, and take grants."""

import asyncio
import threading
import time
from datetime import timedelta

import pytest

from bullrush import Queue, aio
from bullrush.errors import InvalidOptionError, LimitTimeoutError
from bullrush.queue.named_limits import NamedLimit, Rate
from tests.waiting import wait_until


@pytest.fixture
def queue(redis_url, queue_name):
    with Queue(queue_name, url=redis_url, prefix=f"p-{queue_name}") as own:
        yield own


@pytest.fixture
def other(redis_url, queue_name):
    """Another queue of the same prefix."""
    with Queue(f"other-{queue_name}", url=redis_url, prefix=f"p-{queue_name}") as own:
        yield own


@pytest.fixture(autouse=True)
def clean(redis, queue_name):
    yield
    for key in redis.scan_iter(f"*p-{queue_name}*"):
        redis.unlink(key)


def test_a_limit_is_set_read_and_removed(queue):
    limit = queue.limits.set("openai", concurrency=8, rates=[(60, "1m"), (1000, timedelta(days=1)), (5, 500)])
    assert limit == NamedLimit("openai", 8, (Rate(60, 60_000), Rate(1000, 86_400_000), Rate(5, 500)))
    assert queue.limits.get_all() == [limit]
    assert [queue.limits.remove("openai"), queue.limits.remove("openai"), queue.limits.get_all()] == [True, False, []]


def test_queues_of_a_prefix_share_a_limit(queue, other):
    queue.limits.set("api", rates=[(1, "1h")])
    queue.limits.take("api")
    with pytest.raises(LimitTimeoutError, match="'api' did not allow it within 0 ms") as refused:
        other.limits.take("api", timeout=0)
    assert 3_590_000 < refused.value.retry_after <= 3_600_001


def test_queues_with_different_hash_tags_do_not_since_they_may_be_on_different_servers(redis_url, queue_name):
    with (
        Queue(f"{{a}}{queue_name}", url=redis_url, prefix=f"p-{queue_name}") as one,
        Queue(f"{{b}}{queue_name}", url=redis_url, prefix=f"p-{queue_name}") as two,
    ):
        one.limits.set("api", concurrency=1)
        assert two.limits.get_all() == []


def test_a_take_waits_until_the_rate_allows_it(queue):
    queue.limits.set("api", rates=[(2, 300)])
    began = time.monotonic()
    for _ in range(5):
        queue.limits.take("api").settle()
    assert time.monotonic() - began >= 0.6


def test_a_slot_is_free_at_the_end_of_the_block_also_after_an_error(queue):
    queue.limits.set("api", concurrency=1)

    def fail():
        with queue.limits.take("api"):
            assert queue.limits.usage("api")[0].holders == 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with queue.limits.take("api", timeout=0):
        pass


def test_a_slot_that_becomes_free_goes_to_who_waits(queue, redis_url):
    queue.limits.set("api", concurrency=1)
    first, got = queue.limits.take("api"), threading.Event()

    def wait():
        with queue.limits.take("api"):
            got.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    first.settle()
    waiting.join(10)
    assert got.is_set()


def test_what_was_not_used_is_given_back_and_what_was_used_beyond_counts(queue):
    queue.limits.set("tokens", rates=[(100, "1h")])
    with queue.limits.take({"name": "tokens", "cost": 90}) as grant:
        grant.spent("tokens", 10)
    with queue.limits.take({"name": "tokens", "cost": 80}, timeout=0) as grant:
        grant.spent("tokens", 500)
    assert queue.limits.usage("tokens")[0].used == (510,)


def test_a_limit_with_a_field_holds_for_each_value(queue, redis):
    queue.limits.set("openai:{data.org}", concurrency=1)
    acme, evil = ({"name": "openai:{data.org}", "value": value} for value in ("acme", "{x}:\n*"))
    with queue.limits.take(acme, timeout=0), queue.limits.take(evil, timeout=0):
        with pytest.raises(LimitTimeoutError, match="all slots are taken"):
            queue.limits.take(acme, timeout=0)
        assert [use.holders for use in queue.limits.usage(acme, evil)] == [1, 1]
    assert not [key for key in redis.keys("*openai*") if "{" in key or "\n" in key]


def test_a_held_limit_waits_for_the_end_of_the_hold(queue):
    queue.limits.set("api", concurrency=9)
    assert queue.limits.hold("api", "unknown", ms=60_000) == 1
    assert 59_000 < queue.limits.usage("api")[0].held_for <= 60_000
    with pytest.raises(LimitTimeoutError):
        queue.limits.take("api", timeout=100)


def test_a_changed_limit_holds_at_once(queue):
    queue.limits.set("api", rates=[(1, "1h")])
    queue.limits.take("api")
    queue.limits.set("api", rates=[(2, "1h")])
    queue.limits.take("api", timeout=0)
    queue.limits.remove("api")
    queue.limits.take("api", timeout=0)


def test_a_cost_that_can_never_be_taken_is_an_error_at_once(queue):
    queue.limits.set("api", rates=[(10, "1h")])
    with pytest.raises(InvalidOptionError, match="allows 10, never 11 at once"):
        queue.limits.take({"name": "api", "cost": 11})


def test_a_program_that_dies_holds_its_slots_until_its_lease_ends(queue):
    queue.limits.set("api", concurrency=1)
    lost = queue.limits.take("api", lease=50)
    wait_until(lambda: queue.limits.take("api", timeout=500).settle(), "the slot is free")
    assert lost.settle() is False


def test_grants_of_many_threads_are_never_more_than_the_limit(queue):
    queue.limits.set("api", concurrency=3, rates=[(40, 400)])
    now, most, taken, lock = 0, 0, [], threading.Lock()

    def work():
        nonlocal now, most
        for _ in range(10):
            with queue.limits.take("api") as grant:
                with lock:
                    now, most = now + 1, max(most, now + 1)
                    taken.append(grant.taken_at)
                with lock:
                    now -= 1

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most <= 3 and len(taken) == 120
    assert max(sum(0 <= end - at < 400 for at in taken) for end in taken) <= 40


def test_the_same_calls_are_awaited(redis_url, queue_name):
    async def main():
        async with aio.Queue(queue_name, url=redis_url, prefix=f"p-{queue_name}") as queue:
            await queue.limits.set("api", concurrency=1)
            async with await queue.limits.take("api") as grant:
                assert (await queue.limits.usage("api"))[0].holders == 1
                with pytest.raises(LimitTimeoutError):
                    await queue.limits.take("api", timeout=20)
            return await grant.settle()

    assert asyncio.run(main()) is False


def test_a_take_that_is_cancelled_takes_nothing(redis_url, queue_name):
    async def main():
        async with aio.Queue(queue_name, url=redis_url, prefix=f"p-{queue_name}") as queue:
            await queue.limits.set("api", concurrency=1, rates=[(10, "1h")])
            for _ in range(20):
                taking = asyncio.ensure_future(queue.limits.take("api"))
                await asyncio.sleep(0)
                taking.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await taking
            async with await queue.limits.take("api", timeout=5_000):
                return (await queue.limits.usage("api"))[0]

    usage = asyncio.run(main())
    assert (usage.holders, usage.used) == (1, (1,))


def test_a_grant_that_is_older_than_its_limit_gives_nothing_back(queue):
    early = queue.limits.take({"name": "api", "cost": 40})
    queue.limits.set("api", rates=[(50, "1h")])
    queue.limits.take({"name": "api", "cost": 40})
    early.spent("api", 0)
    early.settle()
    with pytest.raises(LimitTimeoutError):
        queue.limits.take({"name": "api", "cost": 20}, timeout=0)


def test_a_short_lease_ends_beside_many_long_ones(queue):
    queue.limits.set("api", concurrency=31)
    long = [queue.limits.take("api", lease=600_000) for _ in range(30)]
    queue.limits.take("api", lease=30)
    queue.limits.take("api", timeout=5_000)
    assert len(long) == 30


def test_limits_of_different_fields_are_different(queue):
    for field in ("org", "team"):
        queue.limits.set(f"api:{{data.{field}}}", concurrency=1)
        queue.limits.take({"name": f"api:{{data.{field}}}", "value": "acme"}, timeout=0)


def test_who_waits_sees_that_a_limit_was_removed(queue):
    queue.limits.set("api", rates=[(1, "1h")])
    queue.limits.take("api")
    removing = threading.Timer(0.1, queue.limits.remove, ["api"])
    removing.start()
    queue.limits.take("api", timeout=30_000)
    removing.join()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda limits: limits.set("a"), "needs concurrency= or rates="),
        (lambda limits: limits.set("a b", concurrency=1), "the name of a limit has letters"),
        (lambda limits: limits.set("a", concurrency=0), "concurrency"),
        (lambda limits: limits.set("a", rates=[(0, "1m")]), "most"),
        (lambda limits: limits.set("a", rates=[(1, "1 minute")]), "the window of a rate is"),
        (lambda limits: limits.set("a", rates=[5]), "a rate is"),
        (lambda limits: limits.set("a", rates=[(5, "60s"), (9, "1m")]), "a window of another length"),
        (lambda limits: limits.take(), "name at least one limit"),
        (lambda limits: limits.take("a", "a"), "taken once"),
        (lambda limits: limits.take({"name": "a", "cost": -1}), "cost"),
        (lambda limits: limits.take({"name": "a", "costs": 1}), "has no 'costs'"),
        (lambda limits: limits.take({"cost": 1}), "needs a name"),
        (lambda limits: limits.take("a:{data.org}"), "holds for each value"),
        (lambda limits: limits.take("a", lease=0), "lease"),
        (lambda limits: limits.hold("a", ms=0), "ms"),
        (lambda limits: limits.take("a").spent("b", 1), "'b' was not taken"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(queue, redis, queue_name, call, text):
    with pytest.raises(InvalidOptionError, match=text):
        call(queue.limits)
    assert not [key for key in redis.keys(f"*p-{queue_name}*") if "limit" in key]
