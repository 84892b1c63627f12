"""What is read of jobs of Bull: their fields, and the keys of repeatable ones."""

import pytest

from bullrush.errors import MalformedJobError
from bullrush.legacy import LegacyJob, Repeatable
from bullrush.legacy.repeatable import read_repeatable

END = 1_798_761_600_000


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("mail::::0 0 * * *", {"pattern": "0 0 * * *"}),
        ("mail:x::Europe/Berlin:0 0 * * *", {"id": "x", "tz": "Europe/Berlin", "pattern": "0 0 * * *"}),
        (f"mail::{END}::* * * * *", {"end_date": END, "pattern": "* * * * *"}),
        ("mail:::5000", {"every": 5000}),
        (f"mail:x:{END}:5000", {"id": "x", "end_date": END, "every": 5000}),
        ("a:b::::@daily", {"name": "a:b", "pattern": "@daily"}),
        ("mail::2027-01-01T00:00:00.000Z::0 0 * * *", {"end_date": END, "pattern": "0 0 * * *"}),
        ("mail::Fri Jan 01 2027 00:00:00 GMT+0000 (UTC)::0 0 * * *", {"pattern": "0 0 * * *"}),
        ("of another form", {"name": "of another form"}),
    ],
)
def test_a_repeatable_job_is_read_from_its_key(key, expected):
    assert read_repeatable(key, 5) == Repeatable(key, 5, **{"name": "mail", **expected})


def test_the_fields_of_a_job_have_defaults():
    job = LegacyJob("1", {})
    assert (job.name, job.data, job.opts, job.timestamp) == (None, {}, {}, None)
    assert (job.attempts, job.attempts_made, job.priority, job.lifo, job.stalled_counter) == (1, 0, 0, False, 0)
    assert (job.returnvalue, job.failed_reason, job.stacktrace, job.processed_on) == (None, None, [], None)
    assert repr(job) == "<LegacyJob 1>"


def test_options_count_where_a_job_has_no_field_of_its_own():
    job = LegacyJob("1", {"name": b"mail", "opts": b'{"attempts":"5","priority":2,"lifo":true}'})
    assert (job.attempts, job.priority, job.lifo) == (5, 2, True)
    assert LegacyJob("1", {**job.fields, "attempts": b"3", "priority": b"0"}).attempts == 3
    assert repr(job) == "<LegacyJob 1 'mail'>"


@pytest.mark.parametrize("opts", [b"{", b"[]", b"5"])
def test_broken_fields_are_reported_when_they_are_read(opts):
    job = LegacyJob("1", {"data": b"{", "opts": opts, "stacktrace": b"{", "returnvalue": b"{", "attemptsMade": b"x"})
    with pytest.raises(MalformedJobError, match="Malformed job 1: its data"):
        job.data  # noqa: B018
    with pytest.raises(MalformedJobError, match="Malformed job 1: its opts"):
        job.opts  # noqa: B018
    assert (job.attempts, job.lifo, job.stacktrace, job.returnvalue, job.attempts_made) == (1, False, [], None, 0)
