"""What the driver finds out before any task starts, and how it tells what tasks found. No session is needed."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from redis import Redis

from bullrush.embedded import EmbeddedRedis
from bullrush.errors import BullrushError, ConnectionLostError, InvalidOptionError, RedisServerError, UnknownOptionError
from bullrush.spark import arrow_handler, call, drain, enqueue, enqueue_flows, read_jobs, worker
from bullrush.spark.address import Address, check_redis
from bullrush.spark.draining.arguments import check_worker, worker_options
from bullrush.spark.draining.driver_queries import look
from bullrush.spark.enqueue import failure_of
from bullrush.spark.rows.frame import check_name_lists, check_names, check_opts
from bullrush.spark.rows.scope import Scope

SCOPE = Scope("day", fresh=False, by_partition=False)


@pytest.fixture(scope="module")
def locked() -> Iterator[str]:
    """Return the URL of a server with a password, without the password."""
    with EmbeddedRedis(port=0, password="") as server:
        with Redis.from_url(server.url) as client:
            client.config_set("requirepass", "secret")
        yield server.url


def reachable(url: str) -> None:
    check_redis([Address("q", url, "bull")])


def looked_at(url: str) -> None:
    look(Address("q", url, "bull"), "run")


@pytest.mark.parametrize("check", [reachable, looked_at])
def test_the_driver_tells_what_is_wrong_with_the_url_and_the_password(
    check: Callable[[str], None], locked: str
) -> None:
    with pytest.raises(InvalidOptionError, match="must start with redis://"):
        check("127.0.0.1:6379")
    with pytest.raises(ConnectionLostError, match="cannot reach Redis"):
        check("redis://127.0.0.1:1")
    with pytest.raises(RedisServerError, match=re.escape("the URL has no password: redis://:PASSWORD@host")):
        check(locked)
    with pytest.raises(BullrushError) as wrong:
        check(locked.replace("://", "://:wrong@"))
    assert "wrong@" not in str(wrong.value)
    check(locked.replace("://", "://:secret@"))


def test_a_user_who_may_run_no_script_gets_an_error_before_the_workers_wait_for_the_right(locked: str) -> None:
    with Redis.from_url(locked.replace("://", "://:secret@")) as client:
        client.execute_command("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all", "-evalsha")
    with pytest.raises(RedisServerError, match="NOPERM"):
        looked_at(locked.replace("://", "://reader:pw@"))


def test_a_stream_waits_for_redis_and_other_servers_are_left_to_the_executors(monkeypatch) -> None:
    monkeypatch.delenv("BULLRUSH_NOPE", raising=False)
    check_redis([Address("q", "env:BULLRUSH_NOPE", "bull"), Address("q", "file:/no/such/file", "bull")])
    check_redis([Address("q", "redis://127.0.0.1:1", "bull")], in_stream=True)
    with pytest.raises(InvalidOptionError, match="must start with"):
        check_redis([Address("q", "http://127.0.0.1", "bull")], in_stream=True)


def test_one_of_several_servers_is_named(redis_url: str) -> None:
    with pytest.raises(ConnectionLostError, match=re.escape("(server 127.0.0.1:1)")):
        check_redis([Address("q", redis_url, "bull"), Address("q", "redis://127.0.0.1:1", "bull")])


WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 3, in main
    import {module}
{line}

\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1)
"""


@pytest.mark.parametrize(
    ("text", "reason", "python"),
    [
        (
            WORKER.format(module="pyarrow", line="ModuleNotFoundError: No module named 'pyarrow'"),
            "ModuleNotFoundError: No module named 'pyarrow'",
            True,
        ),
        (
            "Error from python worker:\n  /usr/bin/python3: No module named pyspark\n",
            "ModuleNotFoundError: No module named pyspark",
            True,
        ),
        (WORKER.format(module="x", line="zlib.error: bad\nmore"), "zlib.error: bad", False),
        (WORKER.format(module="x", line="bullrush.errors.DataError: row 3"), "DataError: row 3", False),
        ("Stage cancelled\nfor a reason", "RuntimeError: Stage cancelled", False),
    ],
)
def test_the_error_of_a_task_is_shown_in_one_line(text: str, reason: str, python: bool) -> None:
    error = failure_of(RuntimeError(text), SCOPE)
    assert str(error).startswith(reason)
    assert "repeat with batch_id='day'" in str(error)
    assert ("mend that first" in str(error)) == reason.startswith("DataError")
    assert ("set PYSPARK_PYTHON" in str(error)) == python


def test_the_error_for_options_with_the_names_of_bullmq_has_the_right_ones() -> None:
    frame: Any = None
    for function, wrong, right in (
        (enqueue, "jobId", "job_id"),
        (enqueue_flows, "parentOpts", "parent_opts"),
        (call, "batchId", "batch_id"),
        (read_jobs, "finishedAfter", "finished_after"),
    ):
        with pytest.raises(UnknownOptionError, match=f"has no option '{wrong}': .* use '{right}'"):
            function(frame, "q", **{wrong: 1})  # type: ignore[operator]


def test_a_call_without_the_session_says_what_the_first_argument_is() -> None:
    for function in (drain, read_jobs):
        with pytest.raises(InvalidOptionError, match="The first argument is the SparkSession: .*not 'emails'"):
            function("emails", print)  # type: ignore[operator]


def test_columns_are_given_by_name_and_options_as_a_dict() -> None:
    check_names({"job_id": None, "parent_id": "id"})
    check_name_lists({"data": None, "by": ("id",)})
    check_opts({"opts": None, "child_opts": {"attempts": 3}})
    for wrong in (pa.field("id", pa.int64()), 5):
        with pytest.raises(InvalidOptionError, match="job_id is the name of a column, such as 'id', not "):
            check_names({"job_id": wrong})
        for names in (wrong, [wrong]):
            with pytest.raises(InvalidOptionError, match="data is a list of names of columns"):
                check_name_lists({"data": names})
    with pytest.raises(InvalidOptionError, match=re.escape("data is a list of columns: ['id']")):
        check_name_lists({"data": "id"})
    with pytest.raises(InvalidOptionError, match="opts is a dict, such as {'attempts': 3}, not '"):
        check_opts({"opts": '{"attempts": 3}'})


def test_an_arrow_handler_is_a_batch_handler_and_gets_big_batches() -> None:
    handler = arrow_handler(len, input=pa.schema([("x", pa.float64())]))
    with pytest.raises(InvalidOptionError, match="give it as batch_handler="):
        worker("q", handler)
    with pytest.raises(InvalidOptionError, match="give it as batch_handler="):
        check_worker("drain", Address("q", "redis://127.0.0.1:1", "bull"), handler, {})
    assert worker_options({"batch_handler": handler}, None) == {"batch_handler": handler, "batch_size": 1_000}
    assert worker_options({"batch_handler": handler, "batch_size": 7}, None)["batch_size"] == 7
    assert worker_options({"batch_handler": len}, None) == {"batch_handler": len}
