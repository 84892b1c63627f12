"""Getters of a queue, as in BullMQ, and the small calls that change it."""

import pytest


@pytest.mark.parametrize(
    "moments", [[0], [0, 10], [0, 0, 0, 60_000, 240_000], [0, 60_001, 3_600_000], [59_000, 61_000]]
)
@pytest.mark.parametrize("fails", [False, True])
def test_the_metrics_of_a_queue(manual_pair, moments, fails):
    pair = manual_pair
    started = pair.now
    for moment in moments:
        pair.tick(started + moment - pair.now)
        pair.add("n", {})
        id = pair.fetch("t:0")
        if fails:
            pair.fail(id, "boom", "t:0", metrics={"maxDataPoints": 5})
        else:
            pair.complete(id, 1, "t:0", metrics={"maxDataPoints": 5})
    pair.metrics("completed")
    pair.metrics("failed")


def test_the_text_for_prometheus(api_pair):
    api_pair.add("n", {})
    api_pair.add("first", {}, priority=1)
    api_pair.add("later", {}, delay=120_000)
    api_pair.prometheus()
    api_pair.pause()
    api_pair.prometheus()


@pytest.mark.parametrize("paused", [False, True])
def test_counts_per_priority(api_pair, paused):
    for priority in (0, 0, 1, 5, 5, 2_097_152):
        api_pair.add("n", {}, priority=priority)
    if paused:
        api_pair.pause()
    api_pair.counts_per_priority([0, 1, 2, 5, 5, 2_097_152])
    api_pair.counts_per_priority([])


def test_the_time_until_a_rate_limit_ends(api_pair):
    def look():
        for most in (None, 1, 5):
            api_pair.rate_limit_ttl(most)

    look()
    api_pair.command("SET", "{P}limiter", 3, "PX", 60_000)
    look()
    api_pair.set_global_rate_limit(4, 10_000)
    look()
    api_pair.rate_limit(60_000)
    look()
    api_pair.remove_rate_limit_key()
    look()
    api_pair.remove_global_rate_limit()
    look()


@pytest.mark.parametrize("length", [0, 1, 1000])
def test_trim_events(api_pair, length):
    api_pair.add_bulk([{"name": "n", "data": n} for n in range(300)])
    api_pair.trim_events(length)
