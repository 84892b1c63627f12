"""Retries, backoff, manual moves and stalled recovery leave the state of BullMQ."""

import pytest

from tests.interop.sides.state import by_job, unordered

from .first_steps import start


@pytest.mark.parametrize("opts", [{}, {"lifo": True}, {"priority": 3}])
def test_an_immediate_retry(pair, opts):
    id = start(pair, attempts=3, **opts)
    pair.add("other", {}, **opts)
    pair.fail(id, "boom", "t:0")
    pair.fetch("t:1")


@pytest.mark.parametrize("backoff", [1000, {"type": "fixed", "delay": 500}, {"type": "exponential", "delay": 1000}])
def test_a_retry_after_a_backoff(pair, backoff):
    id = start(pair, attempts=4, backoff=backoff, priority=2)
    for attempt in range(3):
        pair.fail(id, f"boom {attempt}", f"t:{attempt}")
        pair.tick(10_000)
        assert pair.fetch(f"t:{attempt + 1}") == id
    pair.fail(id, "finally", "t:3")


def test_a_retry_promotes_due_jobs_first(pair):
    pair.add("later", {}, delay=1000)
    id = start(pair, attempts=2)
    pair.tick(1000)
    pair.fail(id, "boom", "t:0")


def test_a_retry_promotes_due_jobs_even_when_it_is_refused(pair):
    pair.add("later", {}, delay=1000)
    id = start(pair, attempts=2)
    pair.tick(1000)
    assert pair.fail(id, "boom", "t:9").code == -6


@pytest.mark.parametrize("backoff", [0, 1000])
def test_a_retry_while_paused(pair, backoff):
    id = start(pair, attempts=2, backoff=backoff)
    pair.pause()
    pair.fail(id, "boom", "t:0")
    pair.resume()


def test_a_retry_at_the_global_concurrency_frees_its_own_slot_first(pair):
    pair.set_global_concurrency(1)
    id = start(pair, attempts=2)
    pair.command("DEL", "{P}marker")
    pair.fail(id, "boom", "t:0")


@pytest.mark.parametrize("backoff", [0, 1000])
def test_a_retry_is_refused_like_a_finish(pair, backoff):
    id = start(pair, attempts=2, backoff=backoff)
    assert pair.fail(id, "boom", "t:9").code == -6
    pair.expire(f"{id}:lock")
    assert pair.fail(id, "boom", "t:0").code == -2
    pair.command("LREM", "{P}active", 0, id)
    assert pair.fail(id, "boom", "0").code == -3


def test_a_job_moves_itself_to_delayed(pair):
    id = start(pair, attempts=2)
    pair.move_to_delayed(id, 5000, "t:0")
    pair.tick(5000)
    assert pair.fetch("t:1") == id
    pair.move_to_delayed(id, 0, "t:1")
    assert pair.move_to_delayed(id, 0, "t:1").code == -2
    assert pair.move_to_delayed("77", 0, "t:1").code == -1
    assert pair.move_to_delayed(id, 0, "0").code == -3


@pytest.mark.parametrize("priority", [0, 4])
def test_a_job_moves_itself_to_wait(pair, priority):
    id = start(pair, priority=priority)
    pair.add("other", {}, priority=priority)
    assert pair.move_to_wait(id, "t:0") == 0
    assert pair.fetch("t:1") == id
    assert pair.move_to_wait(id, "t:9").code == -6
    assert pair.move_to_wait("77", "t:0").code == -1


def test_a_move_to_wait_of_a_job_that_is_not_active_does_nothing_more(pair):
    id = start(pair)
    pair.command("LREM", "{P}active", 0, id)
    assert pair.move_to_wait(id, "t:0") == 0


def test_a_move_to_wait_while_paused(pair):
    id = start(pair)
    pair.pause()
    pair.move_to_wait(id, "t:0")


def test_locks_are_extended_by_their_holders(pair):
    one, two = start(pair), start(pair, token="t:1")
    pair.stalled()
    assert pair.extend_locks(60_000, {one: "t:0", two: "t:9", "77": "t:0"}) == [two, "77"]
    pair.expire(f"{one}:lock")
    assert pair.extend_locks(60_000, {one: "t:0", two: "t:1"}) == [one]


def test_the_stalled_pass_marks_first_and_recovers_later(pair):
    one, two = start(pair, priority=1), start(pair, token="t:1")
    pair.add("waits", {})
    assert pair.stalled() == []
    pair.expire(f"{one}:lock")
    pair.tick(30_000)
    assert pair.stalled() == []
    pair.expire("stalled-check")
    assert pair.stalled() == [one]
    pair.expire("stalled-check")
    pair.expire(f"{two}:lock")
    assert pair.stalled() == [two]
    assert pair.fetch("t:2") == two


def test_a_job_over_the_stalled_limit_fails_at_its_next_fetch(pair):
    id = start(pair, attempts=3)
    for turn in range(1, 3):
        pair.stalled(stalledInterval=50_000)
        pair.expire(f"{id}:lock")
        pair.expire("stalled-check")
        assert pair.stalled() == [id]
        pair.expire("stalled-check")
        assert pair.fetch(f"t:{turn}") == id
    pair.fail(id, "job stalled more than allowable limit", "t:2", unrecoverable=True)


def test_no_stall_is_allowed(pair):
    id = start(pair)
    pair.stalled(maxStalledCount=0)
    pair.expire(f"{id}:lock")
    pair.expire("stalled-check")
    pair.stalled(maxStalledCount=0)


def test_the_stalled_pass_while_paused(pair):
    id = start(pair)
    pair.stalled()
    pair.pause()
    pair.expire(f"{id}:lock")
    pair.expire("stalled-check")
    assert pair.stalled() == [id]


def test_a_finished_job_in_the_stalled_set_is_left_alone(pair):
    id = start(pair)
    pair.stalled()
    pair.complete(id, 1, "t:0")
    pair.command("SADD", "{P}stalled", id)
    pair.expire("stalled-check")
    assert pair.stalled() == []


def test_many_stalled_jobs_come_back_together(pair):
    for _ in range(12):
        pair.add("work", {})
    pair.fetch_many(12, "t:0")
    pair.stalled()
    for id in range(2, 12):
        pair.expire(f"{id}:lock")
    pair.expire("stalled-check")
    assert len(pair.stalled()) == 10


def test_a_bounded_stalled_pass_leaves_in_the_end_what_one_pass_leaves(pair):
    pair.add_bulk([{"name": "work", "data": n} for n in range(12)])
    pair.fetch_many(12, "t:0")
    pair.stalled()
    for id in range(1, 11):
        pair.expire(f"{id}:lock")
    pair.expire("stalled-check")
    pair.view = lambda state: unordered(by_job(state))
    assert len(pair.stalled_in_parts(3)) == 10
