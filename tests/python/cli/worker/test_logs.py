"""Logs of the command: lines of text or JSON, and never a password or the data of a job, not even at DEBUG."""

from __future__ import annotations

import json
import re

import pytest
from redis import Redis

from bullrush import Queue

from .conftest import Start

PASSWORD = "planted-secret"
PAYLOAD = "planted-payload"
#: Kathmandu has a zone that no machine has by accident.
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+05:45")


@pytest.fixture
def login(redis: Redis, redis_url: str) -> str:
    """Return the URL of a user with a password."""
    redis.acl_setuser(
        "planted", enabled=True, passwords=[f"+{PASSWORD}"], commands=["+@all"], keys=["*"], channels=["*"]
    )
    return redis_url.replace("redis://", f"redis://planted:{PASSWORD}@")


def add_jobs(queue: Queue) -> None:
    queue.add_bulk([{"name": "n", "data": {"text": PAYLOAD}, "opts": {"attempts": 2}}] * 3)
    queue.add("wrong", {"text": PAYLOAD, "seconds": "no number"}, attempts=2)


@pytest.mark.parametrize("format", [[], ["--log-json"]], ids=["text", "json"])
def test_no_line_has_a_password_or_the_data_of_a_job(start: Start, queue: Queue, login: str, format: list[str]) -> None:
    add_jobs(queue)
    words = [
        "jobs:handle",
        "-Q",
        queue.name,
        "--burst",
        "--log-level",
        "debug",
        "--health-port",
        "127.0.0.1:0",
        *format,
    ]
    command = start(*words, BULLRUSH_URL=login, TZ="Asia/Kathmandu")
    assert command.ends() == 0, command.output
    assert (queue.get_completed_count(), queue.get_failed_count()) == (3, 1)
    assert "Health and metrics" in command.output
    assert PASSWORD not in command.output
    assert PAYLOAD not in command.output
    if format:
        lines = [json.loads(line) for line in command.lines if not line.startswith("begun")]
        own = [
            (line["job_id"], line["job_name"], line["queue"], line["attempt"])
            for line in lines
            if line["logger"] == "app"
        ]
        assert len(own) == 5, "three jobs, and two attempts of the one that fails"
        once = {(str(number), "n", queue.name, 1) for number in (1, 2, 3)}
        assert set(own) == once | {("4", "wrong", queue.name, attempt) for attempt in (1, 2)}
        (failed,) = (line for line in lines if line["level"] == "ERROR")
        assert (failed["job_id"], failed["attempt"]) == ("4", 2)
        assert "TypeError" in failed["exception"]
        assert all(line["message"] and line["logger"] and TIME.fullmatch(line["time"]) for line in lines)
    else:
        begun = [line.split()[0] for line in command.lines if " INFO " in line]
        assert begun and all(map(TIME.fullmatch, begun)), command.output


def test_processes_get_the_url_and_nobody_sees_it(start: Start, queue: Queue, login: str) -> None:
    import psutil

    queue.add("n", {"text": PAYLOAD})
    wrong = "redis://127.0.0.1:1"
    command = start(
        "jobs:handle", "-Q", queue.name, "-p", "2", "--url", login, "--log-level", "debug", BULLRUSH_URL=wrong
    )
    command.prints("begun")
    children = psutil.Process(command.process.pid).children()
    assert not any(PASSWORD in word for child in children for word in child.cmdline())
    command.terminate()
    assert command.ends() == 0, command.output
    assert PASSWORD not in command.output and PAYLOAD not in command.output


def test_a_wrong_password_at_the_start_is_one_line_and_exit_code_3(start: Start, queue: Queue, login: str) -> None:
    command = start("jobs:handle", "-Q", queue.name, BULLRUSH_URL=login.replace(PASSWORD, f"no-{PASSWORD}"))
    assert command.ends() == 3, command.output
    assert "stopped: WRONGPASS" in command.output
    assert "Traceback" not in command.output
    assert PASSWORD not in command.output
