"""How commands end: exit codes, one line for each error, and nothing that should not be seen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import Queue
from bullrush.embedded import EmbeddedRedis
from tests.waiting import wait_until

READING = [
    ["info"], ["counts", "q"], ["workers", "q"], ["schedulers", "q"], ["jobs", "list", "q"], ["jobs", "show", "q", "1"],
    ["jobs", "retry", "q", "1"], ["add", "q", "x"], ["logs", "q", "1"], ["flow", "q", "1"], ["events", "q"],
    ["jobs", "update", "q", "1", "7"], ["health", "q"],
    ["pause", "q"], ["resume", "q"], ["drain", "q", "--yes"], ["clean", "q", "--yes"], ["obliterate", "q", "--yes"],
]  # fmt: skip


SECRET_URL = "redis://:hunter2@127.0.0.1:1/0"


@pytest.mark.parametrize(
    "words",
    [
        ["--url", SECRET_URL, "info"], [SECRET_URL], ["doctor", SECRET_URL, SECRET_URL],
        ["doctor", "--role", SECRET_URL],
        ["worker", SECRET_URL], ["worker", "json:dumps", "-Q", "q", SECRET_URL],
        ["worker", "json:dumps", "-Q", SECRET_URL],
        ["worker", "json:dumps", "-Q", "q", "--health-port", SECRET_URL], ["acl", SECRET_URL], ["scripts", SECRET_URL],
        ["worker", "json:dumps", "-Q", "q", "--profile", SECRET_URL], ["jobs", "list", "q", "--timeout", SECRET_URL],
    ],
    ids=lambda words: " ".join(words),
)  # fmt: skip
def test_a_url_in_the_wrong_place_is_2_and_its_password_is_not_shown(run: Callable, words: list[str]) -> None:
    ended = run(*words)
    assert ended.code == 2 and ended.err
    assert "hunter2" not in ended.out + ended.err


@pytest.mark.parametrize("words", READING, ids=lambda words: " ".join(words))
def test_without_a_server_the_exit_code_is_3(run: Callable, words: list[str]) -> None:
    ended = run(*words, "--url", "redis://:hunter2@127.0.0.1:1", "--timeout", "20ms")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith(f"bullrush {words[0]}: cannot reach Redis at 127.0.0.1:1") and "timeout=" in ended.err
    assert ended.err.count("\n") == 1 and "hunter2" not in ended.err


def test_a_wrong_or_missing_password_is_3_and_never_shown(run: Callable) -> None:
    with EmbeddedRedis(port=0, password="") as server:
        place = server.url.removeprefix("redis://")
        with Redis.from_url(server.url) as client:
            client.config_set("requirepass", "s3cret")
        wrong = run("info", "--url", f"redis://:hunter2@{place}")
        missing = run("info", "--url", server.url)
        assert run("info", "--url", f"redis://:s3cret@{place}").code == 0
    assert wrong.code == 3 and "WRONGPASS" in wrong.err and "hunter2" not in wrong.err
    assert missing.code == 3 and "redis://:PASSWORD@host:6379" in missing.err


@pytest.mark.parametrize("words", [one for one in READING if one[0] not in {"info", "add"}], ids=" ".join)
def test_an_unknown_queue_is_1_and_the_nearest_is_named(run: Callable, queue: Queue, words: list[str]) -> None:
    queue.add("x")
    ended = run(*(queue.name + "z" if word == "q" else word for word in words))
    assert ended.code == 1 and f"Did you mean {queue.name!r}?" in ended.err


@pytest.mark.parametrize("words", [["jobs", "show"], ["jobs", "retry"], ["logs"], ["flow"]], ids=" ".join)
def test_an_unknown_job_is_1(run: Callable, queue: Queue, words: list[str]) -> None:
    queue.add("x")
    ended = run(*words, queue.name, "77")
    assert ended.code == 1 and "has no job '77'" in ended.err


def test_an_unknown_state_is_2(run: Callable, queue: Queue) -> None:
    queue.add("x")
    assert run("jobs", "list", queue.name, "--state", "done").code == 2
    ended = run("counts", queue.name, "complete")
    assert ended.code == 2 and "Did you mean 'completed'?" in ended.err


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("embedded://", "embedded://DIR"),
        ("embedded://?port=0", "embedded://DIR"),
        ("embedded://x?ports=1", "only the option 'port'"),
        ("127.0.0.1:6379", "must start with redis://, rediss:// or unix://; embedded:// starts a server"),
        ("redis://127.0.0.1/production", "prefix="),
    ],
)
def test_a_url_that_cannot_work_is_2(run: Callable, url: str, advice: str) -> None:
    ended = run("info", "--url", url)
    assert ended.code == 2 and advice in ended.err


def start(*words: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "bullrush", *words]
    # An unbuffered Python drops the rest of a long text when the reader goes, and tells nobody.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_a_reader_that_goes_away_ends_the_command_quietly(queue: Queue) -> None:
    queue.add_bulk([{"name": "x", "data": {"text": "y" * 50_000}} for _ in range(80)])
    listing = start("jobs", "list", queue.name, "--limit", "80", "--json")
    assert listing.stdout is not None and listing.stderr is not None
    listing.stdout.read(10)
    listing.stdout.close()
    with listing.stderr:
        assert (listing.stderr.read(), listing.wait(20)) == ("", 141)


def test_ctrl_c_ends_a_command_quietly(queue: Queue) -> None:
    queue.add("x")
    following = start("events", queue.name, "--since", "1h")
    assert following.stdout is not None and "added" in following.stdout.readline()
    os.kill(following.pid, signal.SIGINT)
    _, err = following.communicate(timeout=100)
    assert (following.returncode, err) == (130, "")


def test_watching_prints_again_until_ctrl_c(queue: Queue) -> None:
    queue.add("x")
    watching = start("info", queue.name, "--watch", "10ms", "--json")
    assert watching.stdout is not None
    wait_until(lambda: '"waiting":1' in watching.stdout.readline())  # type: ignore[union-attr]
    queue.add("y")
    wait_until(lambda: '"waiting":2' in watching.stdout.readline())  # type: ignore[union-attr]
    os.kill(watching.pid, signal.SIGINT)
    _, err = watching.communicate(timeout=100)
    assert (watching.returncode, err) == (130, "")
