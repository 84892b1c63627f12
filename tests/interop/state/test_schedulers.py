"""Jobs of Node's job scheduler, fetched and finished by us: the next iteration is added as by BullMQ."""

import pytest

EVERY = {"every": 10_000}
CRON = {"pattern": "0 */5 * * * *", "tz": "UTC"}
TEMPLATE = {"name": "tick", "data": {"n": 1}, "opts": {"attempts": 2, "removeOnComplete": 3}}


def finish_next(stopped_pair, turn, *, fail=False):
    token = f"t:{turn}"
    id = stopped_pair.fetch(token)
    assert id is not None
    stopped_pair.fail(id, "boom", token) if fail else stopped_pair.complete(id, turn, token)
    return id


@pytest.mark.parametrize("repeat", [EVERY, CRON])
@pytest.mark.parametrize("template", [TEMPLATE, {"name": "bare"}, {"name": "p", "opts": {"priority": 2, "lifo": True}}])
def test_a_series_goes_on(stopped_pair, repeat, template):
    stopped_pair.foreign_upsert_scheduler("s1", repeat, template)
    stopped_pair.tick(300_000 if repeat is CRON else 0)
    for turn in range(3):
        finish_next(stopped_pair, turn)
        stopped_pair.tick(300_000)


@pytest.mark.parametrize("late", [9_999, 10_000, 10_001, 34_567])
def test_missed_slots_of_an_interval_are_skipped(stopped_pair, late):
    stopped_pair.tick(1234)
    stopped_pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    stopped_pair.tick(late)
    finish_next(stopped_pair, 0)
    stopped_pair.tick(20_000)
    finish_next(stopped_pair, 1)


@pytest.mark.parametrize("repeat", [EVERY, CRON])
def test_a_series_ends_at_its_limit(stopped_pair, repeat):
    stopped_pair.foreign_upsert_scheduler("s1", {**repeat, "limit": 2}, TEMPLATE)
    for turn in range(2):
        stopped_pair.tick(300_000)
        finish_next(stopped_pair, turn)
    stopped_pair.tick(300_000)
    assert stopped_pair.fetch("t:9") is None


@pytest.mark.parametrize("repeat", [EVERY, CRON])
def test_a_series_ends_at_its_end_date(stopped_pair, repeat):
    stopped_pair.foreign_upsert_scheduler("s1", {**repeat, "endDate": stopped_pair.now + 700_000}, TEMPLATE)
    for turn in range(2):
        stopped_pair.tick(300_000)
        finish_next(stopped_pair, turn)


@pytest.mark.parametrize("repeat", [EVERY, CRON])
def test_a_series_with_a_start_date(stopped_pair, repeat):
    stopped_pair.foreign_upsert_scheduler("s1", {**repeat, "startDate": stopped_pair.now + 60_000}, TEMPLATE)
    for turn in range(2):
        stopped_pair.tick(300_000)
        finish_next(stopped_pair, turn)


def test_a_retried_iteration_produces_nothing_twice(stopped_pair):
    stopped_pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    id = finish_next(stopped_pair, 0, fail=True)
    assert finish_next(stopped_pair, 1) == id


def test_data_that_only_the_job_taken_has_is_inherited(stopped_pair):
    id = stopped_pair.foreign_upsert_scheduler("s1", EVERY, {"name": "bare"})
    stopped_pair.foreign_update_data(id, {"grown": "on the way"})
    for turn in range(2):
        finish_next(stopped_pair, turn)
        stopped_pair.tick(10_000)


def test_an_iteration_whose_scheduler_is_gone_runs_as_the_last_one(stopped_pair):
    stopped_pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    stopped_pair.command("DEL", "{P}repeat", "{P}repeat:s1")
    finish_next(stopped_pair, 0)


def test_an_iteration_that_exists_already_is_not_added_again(stopped_pair):
    id = stopped_pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    following = f"repeat:s1:{stopped_pair.now + 10_000}"
    stopped_pair.foreign_add("other", {}, jobId=following)
    assert stopped_pair.fetch("t:0") == id
    stopped_pair.complete(id, 1, "t:0")


def test_a_series_while_paused(stopped_pair):
    id = stopped_pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    assert stopped_pair.fetch("t:0") == id
    stopped_pair.pause()
    stopped_pair.tick(10_000)
    stopped_pair.complete(id, 1, "t:0")
    stopped_pair.resume()
    finish_next(stopped_pair, 1)


def test_the_next_iteration_comes_with_a_finish(stopped_pair):
    stopped_pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    stopped_pair.add("other", {})
    stopped_pair.fetch("t:0")
    stopped_pair.fetch("t:1")
    stopped_pair.tick(10_000)
    assert stopped_pair.complete("2", 1, "t:1", fetch_next=True)


def test_a_schedulers_current_job_cannot_be_removed(stopped_pair):
    id = stopped_pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    assert stopped_pair.remove(id).code == -8
    finish_next(stopped_pair, 0)
    assert stopped_pair.remove(id) == 1


def test_drain_spares_the_schedulers_job(stopped_pair):
    stopped_pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    stopped_pair.drain()
    stopped_pair.fetch("t:0")
    stopped_pair.drain(True)


@pytest.mark.parametrize("force", [False, True])
def test_obliterate_takes_the_schedulers_along(stopped_pair, force):
    stopped_pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    stopped_pair.foreign_upsert_scheduler("s2", CRON, TEMPLATE)
    if force:
        stopped_pair.fetch("t:0")
    stopped_pair.obliterate(force=force)


def test_a_stalled_iteration_comes_back_without_a_limit(stopped_pair):
    id = stopped_pair.foreign_upsert_scheduler("s1", EVERY, TEMPLATE)
    for turn in range(3):
        assert stopped_pair.fetch(f"t:{turn}") == id
        stopped_pair.stalled()
        stopped_pair.expire(f"{id}:lock")
        stopped_pair.expire("stalled-check")
        assert stopped_pair.stalled() == [id]
        stopped_pair.expire("stalled-check")
