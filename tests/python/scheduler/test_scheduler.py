"""Job schedulers in the Python API."""

import asyncio
import pickle
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, JobScheduler, Queue, _core, aio
from bullrush.errors import DataError, InvalidOptionError, SchedulerCollisionError, UnknownOptionError

NOW = 1_800_000_001_234
DAY = 86_400_000


@pytest.fixture
def clock() -> Iterator[Callable[[int], None]]:
    """Stop the clock at `NOW`; call it to stop it at another time."""
    _core.stop_clock(NOW)
    yield _core.stop_clock
    _core.stop_clock(None)


@pytest.fixture
def stored(redis: Redis, queue_name: str) -> Callable[[str], dict[str, str]]:
    """Read the hash of a scheduler."""
    return lambda key: redis.hgetall(f"bull:{queue_name}:repeat:{key}")


def test_a_scheduler_makes_its_first_job_at_once(queue: Queue, clock: Any) -> None:
    job = queue.upsert_job_scheduler(
        "s", {"every": 60_000}, {"name": "tick", "data": {"n": 1}, "opts": {"priority": 3}}
    )
    assert isinstance(job, Job)
    assert (job.id, job.name, job.data) == (f"repeat:s:{NOW}", "tick", {"n": 1})
    assert (job.timestamp, job.delay, job.priority, job.repeat_job_key) == (NOW, 0, 3, "s")
    assert job.opts["repeat"] == {"every": 60_000, "count": 1}
    read = queue.get_job(job.id)
    assert read is not None
    assert (read.data, read.timestamp, read.priority, read.repeat_job_key) == ({"n": 1}, NOW, 3, "s")
    assert read.opts == {**job.opts, "delay": 0}
    assert job.get_state() == "prioritized"


def test_a_template_is_optional(queue: Queue, clock: Any) -> None:
    job = queue.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *"})
    assert job is not None
    assert (job.name, job.data, job.id) == ("nightly", {}, f"repeat:nightly:{1_800_068_400_000}")


def test_template_options_override_default_job_options(redis_url: str, queue_name: str, stored: Any) -> None:
    with Queue(queue_name, url=redis_url, default_job_options={"attempts": 5, "backoff": 100, "lifo": True}) as queue:
        queue.upsert_job_scheduler("s", {"every": 1000}, {"opts": {"attempts": 2}})
        scheduler = queue.get_job_scheduler("s")
        assert scheduler is not None
        assert scheduler["template"]["opts"] == {"attempts": 2, "backoff": 100, "lifo": True}


def test_every_takes_a_timedelta(queue: Queue, stored: Any) -> None:
    queue.upsert_job_scheduler("s", {"every": timedelta(minutes=5)})
    assert stored("s")["every"] == "300000"


@pytest.mark.parametrize(
    "moment",
    [
        1_893_456_000_000,
        datetime(2030, 1, 1, tzinfo=timezone.utc),
        datetime(2030, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
        datetime(2030, 1, 1, tzinfo=timezone.utc).astimezone().replace(tzinfo=None),
        "2030-01-01T00:00:00Z",
        "2030-01-01T01:00:00.000+01:00",
        "2030-01-01",
    ],
)
def test_a_date_can_be_given_in_many_ways(queue: Queue, stored: Any, moment: Any) -> None:
    queue.upsert_job_scheduler("s", {"pattern": "@daily", "start_date": moment, "end_date": 1_993_456_000_000})
    assert stored("s")["startDate"] == "1893456000000"


def test_a_pattern_always_has_a_time_zone(queue: Queue, stored: Any) -> None:
    queue.upsert_job_scheduler("none", {"pattern": "@daily"})
    queue.upsert_job_scheduler("utc", {"pattern": "@daily", "utc": True})
    queue.upsert_job_scheduler("paris", {"pattern": "@daily", "tz": "Europe/Paris"})
    queue.upsert_job_scheduler("every", {"every": 1000})
    assert [stored(key).get("tz") for key in ("none", "utc", "paris", "every")] == ["UTC", "UTC", "Europe/Paris", None]


def millis(time: str) -> int:
    return round(datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() * 1000)


@pytest.mark.parametrize(("dst", "day"), [(None, 0), ("bullmq", 1)])
def test_a_day_whose_midnight_is_skipped_has_its_job_unless_it_is_to_be_as_with_node(
    queue: Queue, clock: Any, worker: Any, dst: Any, day: int
) -> None:
    clock(millis("2026-04-22T12:00Z"))
    queue.upsert_job_scheduler("s", {"pattern": "0 0 * * *", "tz": "Africa/Cairo", "dst": dst})
    clock(millis("2026-04-22T22:00Z"))
    worker(lambda job: None).run(max_jobs=1)
    # In Cairo the clock goes from 23:59 on the 23rd to 1:00 on the 24th.
    firsts = ["2026-04-23T22:00Z", "2026-04-24T21:00Z"]
    found = queue.get_job_scheduler("s")
    assert found is not None
    assert (found["next"], found.get("dst")) == (millis(firsts[day]), dst)


@pytest.mark.parametrize(
    ("repeat", "text"),
    [
        ({}, "Either .pattern or .every options must be defined for this repeatable job"),
        ({}, "repeat needs 'every' (milliseconds) or 'pattern' (cron)"),
        ({"every": 0}, "Either .pattern or .every options must be defined for this repeatable job"),
        ({"pattern": ""}, "Either .pattern or .every options must be defined for this repeatable job"),
        ({"every": 1, "pattern": "* * * * *"}, "Both .pattern and .every options are defined for this repeatable job"),
        (
            {"pattern": "* * * * *", "immediately": True, "start_date": 5},
            "Both .immediately and .startDate options are defined for this repeatable job",
        ),
        ({"every": 1, "end_date": 1000}, "End date must be greater than current timestamp"),
        ({"every": -1}, "repeat.every must be greater than 0"),
        ({"every": "often"}, "repeat.every must be whole milliseconds or a timedelta"),
        ({"every": 1, "limit": -1}, "repeat.limit must be greater or equal than 0"),
        ({"every": 1, "start_date": "soon"}, "repeat.start_date is not a date and time of ISO 8601: 'soon'"),
        ({"every": 1, "end_date": []}, "repeat.end_date must be ms since 1970, a datetime or an ISO 8601 text"),
        ({"every": 1, "immediately": 1}, "repeat.immediately must be True or False"),
        ({"pattern": "x y"}, 'pattern "x y" is not a cron pattern'),
        ({"pattern": "61 * * * *"}, 'pattern "61 * * * *" is not a cron pattern'),
        ({"pattern": "* * * * * * *"}, "more than six fields"),
        ({"pattern": "0 0 31 2 *"}, 'pattern "0 0 31 2 *" is not a cron pattern: that month has no such day'),
        ({"pattern": "0 0 31 4,6 *"}, 'pattern "0 0 31 4,6 *" never fires'),
        ({"pattern": "0 3 *"}, 'pattern "0 3 *" is not a cron pattern: it needs five fields'),
        ({"pattern": "* * * * *", "tz": "Mars/Olympus"}, 'tz "Mars/Olympus" is not the name of a time zone'),
        ({"every": 1, "tz": "Mars/Olympus"}, 'tz "Mars/Olympus" is not the name of a time zone'),
        ({"pattern": "* * * * *", "dst": "skip"}, "repeat.dst must be 'bullmq', not 'skip'"),
        ({"every": 1, "dst": "bullmq"}, "repeat.dst is about the days of a pattern"),
        ("* * * * *", "repeat must be a dict of options"),
    ],
)
def test_a_bad_schedule_is_refused_before_anything_is_written(
    queue: Queue, redis: Redis, queue_name: str, repeat: Any, text: str
) -> None:
    with pytest.raises(InvalidOptionError) as refused:
        queue.upsert_job_scheduler("s", repeat)
    assert text in str(refused.value)
    assert redis.keys(f"bull:{queue_name}:*") == []


@pytest.mark.parametrize(
    ("repeat", "text"),
    [
        ({"startDate": 5}, "use 'start_date'"),
        ({"evry": 5}, "Did you mean 'every'?"),
        ({"prev_millis": 5}, "has no option 'prev_millis'"),
    ],
)
def test_an_unknown_repeat_option_is_named(queue: Queue, repeat: Any, text: str) -> None:
    with pytest.raises(UnknownOptionError) as refused:
        queue.upsert_job_scheduler("s", repeat)
    assert text in str(refused.value)


@pytest.mark.parametrize("name", ["job_id", "delay", "repeat", "parent"])
def test_a_template_cannot_set_what_the_scheduler_sets(queue: Queue, name: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"template.opts cannot have '{name}'"):
        queue.upsert_job_scheduler("s", {"every": 1000}, {"opts": {name: "1"}})  # type: ignore[misc]


@pytest.mark.parametrize(
    ("template", "error"),
    [
        ({"data": {1}}, DataError),
        ({"name": 7}, InvalidOptionError),
        ({"opts": 7}, InvalidOptionError),
        ({"opts": {"attempts": -1}}, InvalidOptionError),
        ({"options": {}}, UnknownOptionError),
        ("tick", InvalidOptionError),
    ],
)
def test_a_bad_template_is_refused(queue: Queue, template: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        queue.upsert_job_scheduler("s", {"every": 1000}, template)
    assert queue.get_job_schedulers_count() == 0


@pytest.mark.parametrize("scheduler_id", ["", None, 7, "a:b:c:d:e"])
def test_an_id_that_bullmq_would_misread_is_refused(queue: Queue, scheduler_id: Any) -> None:
    with pytest.raises(InvalidOptionError, match="id of a job scheduler"):
        queue.upsert_job_scheduler(scheduler_id, {"every": 1000})


def test_a_schedule_that_is_over_makes_no_job(queue: Queue, clock: Any) -> None:
    assert queue.upsert_job_scheduler("s", {"every": 1000, "limit": 2, "count": 2}) is None
    assert queue.upsert_job_scheduler("s", {"pattern": "@daily", "end_date": NOW + 1}) is None
    assert queue.get_job_schedulers_count() == 0


def test_an_update_changes_the_waiting_job_and_keeps_its_time(queue: Queue, clock: Callable[[int], None]) -> None:
    first = queue.upsert_job_scheduler("s", {"every": 1000, "limit": 5}, {"name": "old"})
    clock(NOW + 300)
    second = queue.upsert_job_scheduler("s", {"every": 7000}, {"name": "new"})
    assert first is not None
    assert second is not None
    assert (second.id, second.name) == (first.id, "new")
    assert [job.name for job in queue.get_waiting()] == ["new"]
    scheduler = queue.get_job_scheduler("s")
    assert scheduler is not None
    assert scheduler["every"] == 7000
    assert "limit" not in scheduler


def test_slots_that_another_job_has_taken_are_an_error(queue: Queue, clock: Any, redis: Redis, queue_name: str) -> None:
    for slot in (NOW, NOW + 1000):
        redis.hset(f"bull:{queue_name}:repeat:s:{slot}", "name", "other")
    with pytest.raises(SchedulerCollisionError) as refused:
        queue.upsert_job_scheduler("s", {"every": 1000})
    assert refused.value.code == -11
    assert "current and next time slots already have jobs" in str(refused.value)


def test_schedulers_are_read_as_they_were_set(queue: Queue, clock: Any) -> None:
    repeat: Any = {
        "pattern": "0 0 * * *",
        "tz": "Europe/Paris",
        "limit": 3,
        "start_date": NOW,
        "end_date": NOW + 9 * DAY,
    }
    queue.upsert_job_scheduler("cron", repeat, {"name": "n", "data": [1], "opts": {"keep_logs": 3, "backoff": 50}})
    queue.upsert_job_scheduler("every", {"every": 10_000})
    cron = {
        **repeat,
        "key": "cron",
        "name": "n",
        "next": 1_800_054_000_000,
        "iteration_count": 1,
        "offset": 0,
        "template": {"data": [1], "opts": {"keep_logs": 3, "backoff": 50}},
    }
    every = {"key": "every", "name": "every", "next": NOW, "iteration_count": 1, "every": 10_000, "offset": 1234}
    assert queue.get_job_scheduler("cron") == cron
    assert queue.get_job_schedulers() == [cron, every]
    assert queue.get_job_schedulers(asc=True) == [every, cron]
    assert queue.get_job_schedulers(0, 0) == [cron]
    assert queue.get_job_schedulers_count() == 2
    assert queue.get_job_scheduler("other") is None


def test_a_removed_scheduler_is_gone_with_its_delayed_job(queue: Queue) -> None:
    job = queue.upsert_job_scheduler("s", {"pattern": "@yearly"})
    assert job is not None
    assert queue.remove_job_scheduler("s") is True
    assert queue.remove_job_scheduler("s") is False
    assert queue.get_job(job.id) is None
    assert queue.get_job_schedulers() == []


def test_the_class_does_the_same_as_the_calls_of_the_queue(
    queue: Queue, queue_name: str, redis_url: str, clock: Any
) -> None:
    with JobScheduler(queue_name, url=redis_url, default_job_options={"attempts": 4}) as schedulers:
        job = schedulers.upsert_job_scheduler("s", {"every": 1000}, {"name": "tick"})
        assert job is not None
        assert job.opts["attempts"] == 4
        assert job.get_state() == "waiting"
        assert schedulers.get_scheduler("s") == queue.get_job_scheduler("s")
        assert schedulers.get_job_schedulers() == queue.get_job_schedulers()
        assert schedulers.get_schedulers_count() == 1
        assert schedulers.remove_job_scheduler("s") is True
    with pytest.raises(UnknownOptionError):
        JobScheduler(queue_name, url=redis_url, streams={})  # type: ignore[call-arg]


def test_schedulers_of_a_queue_use_its_options(redis_url: str, queue_name: str) -> None:
    with Queue(queue_name, url=redis_url, default_job_options={"attempts": 4}, skip_metas_update=True) as made:
        queue = pickle.loads(pickle.dumps(made))
        job = queue.job_scheduler.upsert_job_scheduler("s", {"every": 1000})
        assert job.opts["attempts"] == 4
        assert queue.job_scheduler is queue.job_scheduler


def test_schedulers_work_with_asyncio(redis_url: str, queue_name: str) -> None:
    async def main() -> None:
        async with aio.Queue(queue_name, url=redis_url) as queue:
            job = await queue.upsert_job_scheduler("s", {"every": 1000}, {"name": "tick"})
            assert isinstance(job, aio.Job)
            assert await job.get_state() == "waiting"
            assert await queue.job_scheduler.get_schedulers_count() == 1
            assert [one["key"] for one in await queue.get_job_schedulers()] == ["s"]
            assert await queue.job_scheduler.remove_job_scheduler("s") is True

    asyncio.run(main())


OLDEST = "nm:jid:123:Europe/Paris:0 12 * * *"


def test_legacy_repeatables_are_listed_and_removed(queue: Queue, redis: Redis, queue_name: str) -> None:
    base = f"bull:{queue_name}:"
    redis.zadd(f"{base}repeat", {OLDEST: NOW, "mine": NOW + 1})
    redis.hset(f"{base}repeat:mine", mapping={"name": "old", "every": "5000"})
    assert queue.get_repeatable_jobs(asc=True) == [
        {
            "key": OLDEST,
            "name": "nm",
            "end_date": 123,
            "tz": "Europe/Paris",
            "pattern": "0 12 * * *",
            "every": None,
            "next": NOW,
        },
        {
            "key": "mine",
            "name": "old",
            "end_date": None,
            "tz": None,
            "pattern": None,
            "every": "5000",
            "next": NOW + 1,
        },
    ]
    assert (
        queue.remove_repeatable("nm", {"pattern": "0 12 * * *", "tz": "Europe/Paris", "end_date": 123}, "other")
        is False
    )
    assert (
        queue.remove_repeatable("nm", {"pattern": "0 12 * * *", "tz": "Europe/Paris", "end_date": 123}, "jid") is True
    )
    assert queue.remove_repeatable_by_key("mine") is True
    assert queue.remove_repeatable_by_key("mine") is False
    assert redis.keys(f"{base}repeat*") == []
