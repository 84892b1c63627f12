"""``bullrush doctor``: what it prints, repairs and returns."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue
from bullrush.doctor import CODES
from bullrush.doctor.repairs import REPAIRS


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """How the test's server is set is no business of these."""
    monkeypatch.setattr("bullrush.doctor.examination._SERVER", ())


def test_a_healthy_queue_ends_with_0(run: Callable, queue: Queue, redis_url: str) -> None:
    queue.add("send")
    ended = run("doctor", redis_url, "--queue", queue.name)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("No faults at 127.0.0.1:") and ended.out.endswith(", 1 queue.\n")
    printed = run("doctor", "--queue", queue.name, "--deep", "--json").json
    assert printed == {
        "healthy": True, "complete": True, "queues": [queue.name], "findings": [], "skipped": [], "error": None
    }  # fmt: skip


def test_a_fault_ends_with_1_and_says_what_to_do(run: Callable, queue: Queue, redis: Redis) -> None:
    queue.add("send")
    redis.set(queue.to_key("limiter"), 9)
    ended = run("doctor", "--queue", queue.name)
    assert ended.code == 1
    assert ended.out.splitlines()[:2] == [
        f"fault    BR106  {queue.name}: A rate limit has no end: the key limiter has no time to live",
        "         Remove it: no job of a worker with a limiter starts again. --fix does it.",
    ]
    assert ended.out.splitlines()[2].startswith("1 fault at ")


def test_ids_are_called_so(run: Callable, queue: Queue, redis: Redis) -> None:
    redis.hincrby(queue.to_key(queue.add("send").id), "timestamp", -600_000)
    line = run("doctor", "--queue", queue.name).out.splitlines()[0]
    assert line.startswith(f"fault    BR107  {queue.name}: ") and line.endswith(" s (ids: 1)")


def test_a_wrong_prefix_is_said(run: Callable) -> None:
    ended = run("doctor", "--prefix", "wrong", "--strict")
    assert (ended.code, ended.err) == (
        1, "not checked: no queue has the prefix wrong: is it right? --prefix gives another one\n"
    )  # fmt: skip


def test_what_passes_by_itself_is_not_called_repaired(
    run: Callable, queue: Queue, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis.hincrby(queue.to_key(queue.add("send").id), "timestamp", -600_000)
    redis.zadd(queue.to_key("priority"), {"1": 1})
    repair = REPAIRS["BR105"]

    async def and_a_worker_takes_it(*given: Any) -> None:
        await repair(*given)
        redis.rpop(queue.to_key("wait"))

    monkeypatch.setitem(REPAIRS, "BR105", and_a_worker_takes_it)
    printed = run("doctor", "--queue", queue.name, "--fix", "--yes", "--json").json
    assert [(one["code"], one["fixed"]) for one in printed["findings"]] == [("BR105", True)]


def test_a_warning_is_a_fault_only_with_strict(run: Callable, queue: Queue, redis: Redis) -> None:
    queue.add("send")
    redis.zadd(queue.to_key("priority"), {"1": 1})
    assert run("doctor", "--queue", queue.name).code == 0
    assert run("doctor", "--queue", queue.name, "--strict").code == 1


def test_fix_asks_repairs_and_looks_again(run: Callable, queue: Queue, redis: Redis) -> None:
    queue.add("send")
    redis.set(queue.to_key("limiter"), 9)
    redis.hset(queue.to_key("meta"), "version", "bullmq:4.0.0")
    refused = run("doctor", "--queue", queue.name, "--fix")
    assert refused.code == 2 and "removes the current rate limit" in refused.err
    assert redis.exists(queue.to_key("limiter"))
    ended = run("doctor", "--queue", queue.name, "--fix", "--yes", "--json")
    assert ended.code == 1, "the version is left"
    assert redis.exists(queue.to_key("limiter")) == 0
    printed = json.loads(ended.out)
    assert [(one["code"], one["fixed"], one["fixable"]) for one in printed["findings"]] == [
        ("BR106", True, True), ("BR115", False, False)
    ]  # fmt: skip
    assert not printed["healthy"]


def test_all_queues_are_found(run: Callable, queue: Queue) -> None:
    queue.add("send")
    # Queues of other tests may have faults, so the exit code is not asked for.
    assert queue.name in json.loads(run("doctor", "--json").out)["queues"]


def test_no_server_ends_with_3(run: Callable) -> None:
    ended = run("doctor", "redis://127.0.0.1:1", "--timeout", "200ms")
    assert ended.code == 3 and ended.err.count("\n") == 1


def test_two_urls_are_a_mistake(run: Callable, redis_url: str) -> None:
    ended = run("doctor", redis_url, "--url", "redis://127.0.0.1:1", "--json")
    assert (ended.code, json.loads(ended.out)["error"]) == (2, "give the URL once, as URL or as --url")


def test_json_is_json_whatever_happens(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    for url, code in (("redis://127.0.0.1:1", 3), ("http://127.0.0.1", 2), ("redis+cluster://127.0.0.1:1", 3)):
        ended = run("doctor", url, "--timeout", "200ms", "--json")
        printed = json.loads(ended.out)
        assert (ended.code, printed["healthy"], printed["complete"]) == (code, False, False)
        assert printed["error"] in ended.err

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bullrush.doctor.examination.run_blocking", lambda steps: (steps.close(), interrupted()))
    ended = run("doctor", "--json")
    assert (ended.code, json.loads(ended.out)["error"]) == (130, "interrupted")


def test_what_could_not_be_checked_is_said_and_counts_with_strict(run: Callable) -> None:
    ended = run("doctor", "--queue", "no-such-queue")
    assert (ended.code, ended.out.endswith(", 0 queues; 1 check could not be made.\n")) == (0, True)
    assert ended.err.startswith("not checked: the queue no-such-queue: it has no keys")
    assert run("doctor", "--queue", "no-such-queue", "--strict").code == 1


def test_each_repair_is_announced() -> None:
    assert {code for code, about in CODES.items() if about.repair} == REPAIRS.keys()
