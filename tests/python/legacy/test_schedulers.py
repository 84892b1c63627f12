"""bullrush.legacy.migrating.schedulers: the job scheduler that a repeatable of Bull becomes."""

import orjson
import pytest

from bullrush.legacy.convert import Rules
from bullrush.legacy.migrating.options import place
from bullrush.legacy.migrating.schedulers import as_scheduler, has_times, owner, scheduler_id
from bullrush.legacy.repeatable import read_repeatable

NOW = 1_795_225_366_409
NEXT = NOW + 60_000


def pending(name="mail", **repeat):
    return {"name": name.encode(), "opts": orjson.dumps({"attempts": 3, "repeat": repeat, "timestamp": NOW})}


def test_a_pattern_keeps_its_zone_its_limit_and_its_end():
    key = f"mail::{NOW + 9_000_000}:Europe/Paris:0 3 * * *"
    raw = pending(cron="0 3 * * *", tz="Europe/Paris", limit=9, count=4, key=key)
    scheduler = as_scheduler("legacy-1", read_repeatable(key, NEXT), raw, NOW, Rules())
    repeat = {"pattern": "0 3 * * *", "tz": "Europe/Paris", "limit": 9, "endDate": NOW + 9_000_000}
    stored = {member: str(value).encode() for member, value in repeat.items()}
    assert scheduler.fields == {"name": b"mail", "ic": b"4", "offset": b"0", "opts": b'{"attempts":3}', **stored}
    assert orjson.loads(scheduler.opts) == {
        "attempts": 3,
        "repeat": {**repeat, "count": 4},
        "repeatJobKey": scheduler.id,
        "timestamp": NOW,
    }
    assert scheduler.prev_millis == str(NEXT)


def test_an_interval_keeps_its_phase():
    scheduler = as_scheduler("legacy-1", read_repeatable("mail:::90000", NEXT), pending(every=90_000), NOW, Rules())
    assert (scheduler.fields["startDate"], scheduler.fields["offset"]) == (b"%d" % NEXT, b"%d" % (NEXT % 90_000))
    assert scheduler.prev_millis == ""


def test_utc_is_a_zone():
    raw = pending(cron="* * * * *", utc=True)
    scheduler = as_scheduler("legacy-1", read_repeatable("mail::::* * * * *", NEXT), raw, NOW, Rules())
    assert scheduler.fields["tz"] == b"UTC"


def test_a_pattern_without_a_zone_has_a_note_or_gets_the_one_that_is_given():
    repeatable = read_repeatable("mail::::0 7 * * *", NEXT)
    scheduler = as_scheduler("legacy-1", repeatable, pending(cron="0 7 * * *"), NOW, Rules())
    assert "tz" not in scheduler.fields and "has no time zone" in scheduler.notes[0]
    given = as_scheduler("legacy-1", repeatable, pending(cron="0 7 * * *"), NOW, Rules(tz="Europe/Paris"))
    assert (given.fields["tz"], given.notes) == (b"Europe/Paris", ())
    assert (
        as_scheduler("legacy-1", read_repeatable("mail:::90000", NEXT), pending(every=90_000), NOW, Rules()).notes == ()
    )


def test_a_zone_that_bull_knew_stays():
    repeatable = read_repeatable("mail:::Asia/Tokyo:0 7 * * *", NEXT)
    scheduler = as_scheduler("legacy-1", repeatable, pending(cron="0 7 * * *"), NOW, Rules(tz="Europe/Paris"))
    assert scheduler.fields["tz"] == b"Asia/Tokyo"


def test_a_repeatable_keeps_its_priority():
    raw = {"name": b"mail", "opts": orjson.dumps({"priority": 7, "repeat": {"every": 90_000}}), "priority": b"7"}
    scheduler = as_scheduler("legacy-1", read_repeatable("mail:::90000", NEXT), raw, NOW, Rules())
    assert (scheduler.priority, orjson.loads(scheduler.fields["opts"])) == (7, {"priority": 7})


def test_a_key_that_cannot_be_read_becomes_nothing():
    assert not has_times(read_repeatable("what", NEXT))


def test_a_pattern_that_no_worker_can_read_becomes_nothing():
    """Bull 3.0 stores such a repeatable for {every: ...}, which it does not know, and then throws."""
    repeatable = read_repeatable("mail::::undefined", NEXT)
    assert repeatable.pattern == "undefined"
    assert not has_times(repeatable)


@pytest.mark.parametrize(
    ("id", "raw", "found"),
    [
        (f"repeat:0123:{NEXT}", pending(every=90_000, key="mail:::90000"), True),
        (f"repeat:mail::{NEXT}", pending(every=90_000), True),
        (f"repeat:0123:{NEXT}", pending(every=90_000, key="mail:x::90000"), False),
        (f"repeat:0123:{NEXT + 1}", pending(every=90_000, key="mail:::90000"), False),
        (f"repeat:mail::{NEXT}", pending(name="post", every=90_000), False),
        (f"own:{NEXT}", pending(every=90_000), False),
    ],
)
def test_the_pending_job_of_a_repeatable_is_known(id, raw, found):
    repeatable = read_repeatable("mail:::90000", NEXT)
    assert (owner(id, raw, [repeatable]) == repeatable) is found


def test_the_same_repeatable_of_a_queue_is_always_the_same_scheduler():
    ids = {
        scheduler_id(source, read_repeatable(key, next))
        for source in ("bull:mails", "bull:bills")
        for key in ("a:::5", "b:::5")
        for next in (1, 2)
    }
    assert len(ids) == 4
    assert all(id.startswith("legacy-") for id in ids)


@pytest.mark.parametrize(
    ("url", "server", "database"),
    [
        ("redis://:secret@host", "host:6379", "0"),
        ("redis://host:7000/2", "host:7000", "2"),
        ("redis+sentinel://:secret@one,two:7/main", "one:26379,two:7 (Sentinel, main)", "0"),
        ("redis+sentinel://one/main/3", "one:26379 (Sentinel, main)", "3"),
        ("unix:///run/redis.sock?db=1", "/run/redis.sock", "1"),
    ],
)
def test_a_place_is_a_server_and_a_database(url, server, database):
    assert place(url) == (server, database)
