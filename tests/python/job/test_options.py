"""Job options: checks, texts and the stored form, without Redis."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from bullrush.errors import InvalidOptionError
from bullrush.job.option_compiler import OptionCompiler, read_options


def stored(**options: Any) -> dict[str, Any]:
    compiled, job_id = OptionCompiler().compile(options)
    result: dict[str, Any] = orjson.loads(compiled.stored)
    return result if job_id is None else {**result, "jobId": job_id}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"attempts": 0}),
        ({"attempts": 3, "delay": 0, "lifo": False}, {"attempts": 3, "delay": 0, "lifo": False}),
        ({"attempts": None, "priority": None}, {"attempts": 0}),
        ({"backoff": 1000}, {"attempts": 0, "backoff": {"type": "fixed", "delay": 1000}}),
        (
            {"backoff": {"type": "exponential", "delay": timedelta(seconds=2), "jitter": 0.5}},
            {"attempts": 0, "backoff": {"type": "exponential", "delay": 2000, "jitter": 0.5}},
        ),
        ({"delay": timedelta(minutes=1)}, {"attempts": 0, "delay": 60_000}),
        ({"priority": 2.0}, {"attempts": 0, "priority": 2}),
        (
            {"remove_on_complete": True, "remove_on_fail": 5},
            {"attempts": 0, "removeOnComplete": True, "removeOnFail": 5},
        ),
        (
            {"remove_on_complete": {"age": timedelta(hours=1), "count": 10}},
            {"attempts": 0, "removeOnComplete": {"age": 3600, "count": 10}},
        ),
        (
            {"keep_logs": 3, "stack_trace_limit": 2, "size_limit": 100, "timestamp": 17},
            {"attempts": 0, "kl": 3, "stackTraceLimit": 2, "sizeLimit": 100, "timestamp": 17},
        ),
        ({"job_id": 'a"b'}, {"attempts": 0, "jobId": 'a"b'}),
        ({"job_id": ""}, {"attempts": 0}),
    ],
)
def test_only_given_options_are_stored_and_under_their_short_names(
    options: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert stored(**options) == expected


def test_job_options_override_defaults_and_none_removes_one() -> None:
    compiler = OptionCompiler({"attempts": 5, "remove_on_complete": True, "backoff": {"type": "fixed", "delay": 1}})
    compiled, _ = compiler.compile({"attempts": 2, "backoff": None})
    assert orjson.loads(compiled.stored) == {"attempts": 2, "removeOnComplete": True}


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("priority", 1.5, "Priority should not be float"),
        ("priority", -1, "Priority should be between 0 and 2097152, not -1"),
        ("priority", 2_097_153, "Priority should be between 0 and 2097152"),
        ("priority", float("nan"), "Priority should not be float"),
        ("backoff", {"type": "fixed", "delay": 1, "jitter": 1.1}, "Jitter should be between 0 and 1"),
        ("backoff", {"delay": 1}, "backoff needs a type"),
        ("backoff", {"type": "fixed", "dealy": 1}, "backoff has no option 'dealy'. Did you mean 'delay'?"),
        ("attempts", "3", "attempts must be a whole number, not '3'"),
        ("attempts", -1, "attempts must be greater or equal than 0"),
        ("delay", "5", "delay must be whole milliseconds or a timedelta, not '5'"),
        ("delay", 2**60, "delay must be whole milliseconds"),
        ("lifo", 1, "lifo must be True or False"),
        ("remove_on_complete", "yes", "remove_on_complete must be True, False, a count or a dict"),
        ("remove_on_fail", {"age": "1h"}, "remove_on_fail.age must be a whole number"),
        ("job_id", 12, "Custom Id cannot be integers"),
        ("job_id", "12", "Custom Id cannot be integers"),
        ("job_id", "-3", "Custom Id cannot be integers"),
        ("job_id", "a:b", "Custom Id cannot contain :"),
        ("job_id", "0:x", "JobId cannot be '0' or start with 0:"),
        ("job_id", "0", "JobId cannot be '0' or start with 0:"),
        ("job_id", "meta", "Custom Id cannot be 'meta': that key belongs to the queue"),
        ("job_id", "waiting-children", "Custom Id cannot be 'waiting-children'"),
        ("job_id", "metrics:completed:data", "Custom Id cannot be 'metrics:completed:data'"),
        ("job_id", 1.5, "Custom Id must be a str, not float"),
    ],
)
def test_a_bad_value_is_refused_with_bullmqs_text_where_it_has_one(option: str, value: object, message: str) -> None:
    with pytest.raises(InvalidOptionError) as refused:
        stored(**{option: value})
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("job_id", ["012", "1.5", "12a", "a:b:c", "über", "-"])
def test_ids_that_bullmq_takes_are_taken(job_id: str) -> None:
    assert stored(job_id=job_id)["jobId"] == job_id


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("prioriy", "add() has no option 'prioriy'. Did you mean 'priority'?"),
        (
            "removeOnComplete",
            "add() has no option 'removeOnComplete': options are snake_case here, use 'remove_on_complete'",
        ),
        ("jobId", "use 'job_id'"),
        ("zzz", "There are: attempts, backoff"),
        ("failParentOnFailure", "use 'fail_parent_on_failure'"),
        ("repeat", "use Queue.upsert_job_scheduler()"),
    ],
)
def test_an_unknown_option_is_a_type_error_that_names_the_nearest(option: str, message: str) -> None:
    with pytest.raises(TypeError) as refused:
        stored(**{option: 1})
    assert message in str(refused.value)
    assert isinstance(refused.value, InvalidOptionError)


def test_equal_options_are_compiled_once_and_nan_is_not_mistaken_for_none() -> None:
    compiler = OptionCompiler()
    first, _ = compiler.compile({"priority": 3, "job_id": "a"})
    second, _ = compiler.compile({"priority": 3, "job_id": "b"})
    assert first is second
    compiler.compile({"priority": None})
    with pytest.raises(InvalidOptionError):
        compiler.compile({"priority": float("nan")})


def test_stored_options_are_read_under_their_long_names_and_unknown_ones_pass() -> None:
    wire = {
        "attempts": 2, "kl": 5, "fpof": True, "jobId": "x", "removeOnFail": {"age": 1}, "de": {"id": "d"},
        "tm": "trace",
        "omc": True, "myOwn": 1, "repeat": {"every": 5, "startDate": 1},
    }  # fmt: skip
    assert read_options(wire) == {
        "attempts": 2, "keep_logs": 5, "fail_parent_on_failure": True, "job_id": "x", "remove_on_fail": {"age": 1},
        "deduplication": {"id": "d"}, "telemetry": {"metadata": "trace", "omit_context": True}, "my_own": 1,
        "repeat": {"every": 5, "start_date": 1},
    }  # fmt: skip
