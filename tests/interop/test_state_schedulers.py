"""Jobs of a foreign job scheduler, taken and finished by us: the next iteration is produced as BullMQ 5.62.0 does."""

import pytest

EVERY = {"every": 10_000}
CRON = {"pattern": "0 */5 * * * *", "tz": "UTC"}
TEMPLATE = {"name": "tick", "data": {"n": 1}, "opts": {"attempts": 2, "removeOnComplete": 3}}


def finish_next(pair, turn, *, fail=False):
    token = f"t:{turn}"
    id = pair.fetch(token)
    assert id is not None
    pair.fail(id, "boom", token) if fail else pair.complete(id, turn, token)
    return id


@pytest.mark.parametrize("repeat", [EVERY, CRON])
@pytest.mark.parametrize("template", [TEMPLATE, {"name": "bare"}, {"name": "p", "opts": {"priority": 2, "lifo": True}}])
def test_a_series_goes_on(pair, repeat, template):
    pair.foreign_upsert_scheduler("s1", repeat, template)
    pair.tick(300_000 if repeat is CRON else 0)
    for turn in range(3):
        finish_next(pair, turn)
        pair.tick(300_000)


@pytest.mark.parametrize("late", [9_999, 10_000, 10_001, 34_567])
def test_missed_slots_of_an_interval_are_skipped(pair, late):
    pair.tick(1234)
    pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    pair.tick(late)
    finish_next(pair, 0)
    pair.tick(20_000)
    finish_next(pair, 1)


@pytest.mark.parametrize("repeat", [EVERY, CRON])
def test_a_series_ends_at_its_limit(pair, repeat):
    pair.foreign_upsert_scheduler("s1", {**repeat, "limit": 2}, TEMPLATE)
    for turn in range(2):
        pair.tick(300_000)
        finish_next(pair, turn)
    pair.tick(300_000)
    assert pair.fetch("t:9") is None


@pytest.mark.parametrize("repeat", [EVERY, CRON])
def test_a_series_ends_at_its_end_date(pair, repeat):
    pair.foreign_upsert_scheduler("s1", {**repeat, "endDate": pair.now + 700_000}, TEMPLATE)
    for turn in range(2):
        pair.tick(300_000)
        finish_next(pair, turn)


@pytest.mark.parametrize("repeat", [EVERY, CRON])
def test_a_series_with_a_start_date(pair, repeat):
    pair.foreign_upsert_scheduler("s1", {**repeat, "startDate": pair.now + 60_000}, TEMPLATE)
    for turn in range(2):
        pair.tick(300_000)
        finish_next(pair, turn)


def test_a_retried_iteration_produces_nothing_twice(pair):
    pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    id = finish_next(pair, 0, fail=True)
    assert finish_next(pair, 1) == id


def test_data_that_only_the_job_taken_has_is_inherited(pair):
    id = pair.foreign_upsert_scheduler("s1", EVERY, {"name": "bare"})
    pair.foreign_update_data(id, {"grown": "on the way"})
    for turn in range(2):
        finish_next(pair, turn)
        pair.tick(10_000)


def test_an_iteration_whose_scheduler_is_gone_runs_as_the_last_one(pair):
    pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    pair.command("DEL", "{P}repeat", "{P}repeat:s1")
    finish_next(pair, 0)


def test_an_iteration_that_exists_already_is_not_added_again(pair):
    id = pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    following = f"repeat:s1:{pair.now + 10_000}"
    pair.foreign_add("squatter", {}, jobId=following)
    assert pair.fetch("t:0") == id
    pair.complete(id, 1, "t:0")


def test_a_series_while_paused(pair):
    id = pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    assert pair.fetch("t:0") == id
    pair.pause()
    pair.tick(10_000)
    pair.complete(id, 1, "t:0")
    pair.resume()
    finish_next(pair, 1)


def test_the_next_iteration_comes_with_a_finish(pair):
    pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    pair.add("other", {})
    pair.fetch("t:0")
    pair.fetch("t:1")
    pair.tick(10_000)
    assert pair.complete("2", 1, "t:1", fetch_next=True)


def test_a_schedulers_current_job_cannot_be_removed(pair):
    id = pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    assert pair.remove(id).code == -8
    finish_next(pair, 0)
    assert pair.remove(id) == 1


def test_drain_spares_the_schedulers_job(pair):
    pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    pair.drain()
    pair.fetch("t:0")
    pair.drain(True)


@pytest.mark.parametrize("force", [False, True])
def test_obliterate_takes_the_schedulers_along(pair, force):
    pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    pair.foreign_upsert_scheduler("s2", CRON, TEMPLATE)
    if force:
        pair.fetch("t:0")
    pair.obliterate(force=force)


def test_a_stalled_iteration_comes_back_without_a_limit(pair):
    id = pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    for turn in range(3):
        assert pair.fetch(f"t:{turn}") == id
        pair.stalled()
        pair.expire(f"{id}:lock")
        pair.expire("stalled-check")
        assert pair.stalled() == [id]
        pair.expire("stalled-check")
