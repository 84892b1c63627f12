"""A new job of Bull: its options, as each version stores them."""

from datetime import timedelta

import orjson
import pytest

from bullrush.errors import DataError, InvalidOptionError
from bullrush.legacy.new_job import new_job

NOW = 1795225366409


def test_bull_3_and_4_store_defaults_behind_the_options_that_were_given():
    job = new_job("4", "welcome", None, {"priority": 2, "backoff": 500, "timestamp": None}, NOW)
    assert list(orjson.loads(job.stored_options("4")).items()) == [
        ("priority", 2),
        ("backoff", {"type": "fixed", "delay": 500}),
        ("attempts", 1),
        ("delay", 0),
        ("timestamp", NOW),
    ]
    assert orjson.loads(job.stored_options("2")) == {"priority": 2, "backoff": {"type": "fixed", "delay": 500}}
    assert job.data == b"{}"


def test_a_delay_that_is_over_delays_no_job_of_bull_1_and_2():
    job = new_job("1", "welcome", 0, {"delay": timedelta(seconds=5), "timestamp": NOW - 5000}, NOW)
    assert [job.due(layout) for layout in ("1", "2", "3", "4")] == [0, 0, NOW, NOW]
    assert job.data == b"0"


@pytest.mark.parametrize(
    "options",
    [
        {"delay": -1},
        {"attempts": 0},
        {"priority": -1},
        {"timeout": 0},
        {"backoff": {"type": "fixed", "jitter": 0.5}},
        {"job_id": "meta-paused"},
        {"job_id": "priority"},
        {"job_id": "17"},
        {"job_id": "a:b"},
        {"timestamp": NOW, "delay": timedelta(days=20_000)},
    ],
    ids=str,
)
def test_options_that_cannot_be_stored_are_refused(options):
    with pytest.raises(InvalidOptionError):
        new_job("4", "welcome", {}, options, NOW)


def test_a_name_and_data_that_cannot_be_stored_are_refused():
    with pytest.raises(InvalidOptionError, match="Job name must be a str"):
        new_job("1", 5, {}, {}, NOW)
    with pytest.raises(DataError, match="data.when"):
        new_job("1", "welcome", {"when": timedelta(1)}, {}, NOW)
