"""Data and surroundings that nobody wished for: escape codes, foreign keys, closed streams, full disks."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bullrush import Queue
from bullrush.cli.jobs import change
from bullrush.cli.worker.logs import JsonLines, TextLines

#: Sets a title and a colour, moves the cursor (also in 8 bits), begins a line of its own and turns the text around.
EVIL = "\x1b]0;title\x07\x1b[31mred\x9b2J\nforged line\r\u202etxt\x7f\u061c\u2028"


@pytest.fixture
def evil(queue: Queue, redis) -> Queue:
    """Return a queue whose job 1 has escape codes wherever a text can be."""
    job = queue.add(EVIL, {"text": EVIL})
    job.log(EVIL)
    redis.hset(queue.to_key("1"), mapping={"failedReason": EVIL, "stacktrace": json.dumps([EVIL])})
    redis.xadd(queue.to_key("events"), {"event": EVIL, "jobId": EVIL})
    return queue


@pytest.mark.parametrize(
    "words",
    [["jobs", "show", "{}", "1"], ["jobs", "list", "{}"], ["flow", "{}", "1"], ["logs", "{}", "1"],
     ["events", "{}", "--since", "1m", "--limit", "3"], ["jobs", "show", "{}", EVIL]],
    ids=lambda words: " ".join(words[:2]),
)  # fmt: skip
def test_no_text_of_a_job_commands_the_terminal(run: Callable, evil: Queue, words: list[str]) -> None:
    ended = run(*(word.format(evil.name) for word in words))
    shown = ended.out + ended.err
    assert "red" in shown
    assert [letter for letter in shown if not letter.isprintable() and letter != "\n"] == []


def test_a_name_with_line_feeds_stays_on_its_line(run: Callable, evil: Queue) -> None:
    for words in (
        ["jobs", "list", evil.name],
        ["flow", evil.name, "1"],
        ["events", evil.name, "--since", "1m", "-n", "3"],
    ):
        assert not [line for line in run(*words).out.splitlines() if line.startswith("forged line")]
    assert r"\nforged line" in run("jobs", "show", evil.name, "1").out.partition("data:")[0]


def test_foreign_keys_do_not_hide_the_queues(run: Callable, queue_name: str, redis_url: str, redis) -> None:
    prefix = queue_name
    with Queue("good", url=redis_url, prefix=prefix) as good:
        good.add("n")
    redis.hset(f"{prefix}:esc\x1b[31m:meta", "a", "b")
    redis.hset(prefix.encode() + b":\xff\xfe:meta", "a", "b")
    assert [info["queue"] for info in run("info", "--prefix", prefix, "--json").json] == ["good"]
    redis.hset(f"{prefix}:odd:meta", "a", "b")
    redis.set(f"{prefix}:odd:wait", "no list")
    ended = run("info", "--prefix", prefix)
    assert ended.code == 1
    assert "good" in ended.out
    assert "odd: " in ended.err


def test_a_job_with_an_impossible_time_is_shown(run: Callable, queue: Queue, redis) -> None:
    queue.add("n")
    redis.hset(queue.to_key("1"), "timestamp", "1e20")
    assert "added          100000000000000000000 ms" in run("jobs", "show", queue.name, "1").out
    assert run("jobs", "list", queue.name).code == 0


def test_options_may_stand_between_the_queue_and_the_ids(run: Callable, worked: Queue) -> None:
    assert run("jobs", "retry", worked.name, "--json", "2").json["done"] == ["2"]
    assert run("jobs", "remove", worked.name, "1", "--yes", "2").code == 0
    assert run("jobs", "remove", worked.name, "--nonsense", "3").code == 2


def test_without_standard_input_a_question_is_refused(
    run: Callable, worked: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    ended = run("drain", worked.name)
    assert (ended.code, "--yes is needed" in ended.err) == (2, True)


def test_closed_streams_are_no_error_and_a_full_disk_is_one(queue: Queue) -> None:
    queue.add("n")
    command = f"{sys.executable} -m bullrush counts {queue.name}"
    assert subprocess.run(f"{command} <&- >&- 2>&-", shell=True, check=False).returncode == 0
    full = subprocess.run(f"{command} > /dev/full", shell=True, check=False, capture_output=True, text=True)
    assert (full.returncode, full.stderr) == (1, "bullrush counts: No space left on device\n")


def test_ids_are_complete_in_a_narrow_terminal(run: Callable, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    queue.add("a name of some length", job_id="order-2026-0000017")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "order-2026-0000017" in run("jobs", "list", queue.name).out


def test_an_interrupted_change_says_how_far_it_came(
    run: Callable, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.add_bulk([{"name": "n", "opts": {"delay": 60_000}}] * 3)
    promote = change.change_seen

    def interrupted(*args: Any, **options: Any) -> Any:
        if queue.get_waiting_count():
            raise KeyboardInterrupt
        return promote(*args, **options)

    monkeypatch.setattr(change, "change_seen", interrupted)
    monkeypatch.setattr(change, "_PART", 1)
    ended = run("jobs", "promote", queue.name, "--all", "--yes")
    assert (ended.code, ended.err) == (130, "Interrupted: 1 of 3 jobs promoted. Of up to 1 more nobody knows.\n")


def test_the_log_of_a_worker_shows_control_characters() -> None:
    try:
        raise ValueError(EVIL)
    except ValueError:
        record = logging.LogRecord("bullrush", logging.ERROR, "here", 1, "it failed: %s", (EVIL,), sys.exc_info())
    line = TextLines().format(record)
    assert r"it failed: \x1b]0;title\x07" in line
    assert [letter for letter in line if not letter.isprintable() and letter != "\n"] == []
    line = JsonLines().format(record)
    assert [letter for letter in line if not letter.isprintable()] == []
    assert json.loads(line)["message"] == f"it failed: {EVIL}"


@pytest.mark.parametrize(
    "words",
    [["jobs", "show", "{}", "1"], ["jobs", "list", "{}"], ["flow", "{}", "1"], ["logs", "{}", "1"]],
    ids=lambda words: " ".join(words[:2]),
)
def test_json_commands_no_terminal_and_means_the_same(run: Callable, evil: Queue, words: list[str]) -> None:
    ended = run(*(word.format(evil.name) for word in words), "--json")
    assert [letter for letter in ended.out if not letter.isprintable() and letter != "\n"] == []
    assert EVIL in walk(ended.json)


def walk(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value."""
    if isinstance(value, str):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from walk(part)


def test_output_in_ascii_goes_on_after_a_character_that_it_cannot_show(queue: Queue) -> None:
    queue.add("grüße 🐂", {"text": "é"})
    queue.add("the next one")

    def printed(*words: str) -> str:
        command = [sys.executable, "-m", "bullrush", "jobs", "list", queue.name, *words]
        environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
        ended = subprocess.run(command, env=environment, check=True, capture_output=True)
        return ended.stdout.decode("ascii")

    assert r"gr\xfc\xdfe \U0001f402" in printed() and "the next one" in printed()
    assert [job["name"] for job in json.loads(printed("--json"))] == ["grüße 🐂", "the next one"]
