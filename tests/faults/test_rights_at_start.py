"""A worker whose user lacks a right names it at the start and in its health, and goes on when the right is given."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bullrush import Queue, Worker
from bullrush.rights import read_roles
from tests.waiting import wait_until

NEEDED = [f"+{name}" for name in read_roles()["worker"].needed]


@pytest.fixture
def allow(own_redis: Any) -> Callable[..., None]:
    """Return a function that gives the user `app` these rights and no others."""

    def give(*rules: str, keys: str = "~bull:mail:*") -> None:
        own_redis.execute_command("ACL", "SETUSER", "app", "reset", "on", ">secret", keys, "&*", *rules)

    return give


@contextmanager
def working(url: str, **options: Any) -> Iterator[Worker]:
    app = url.replace("redis://", "redis://app:secret@")
    with Worker("mail", lambda _: "done", url=app, autorun=True, run_retry_delay=50, **options) as worker:
        yield worker


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_a_missing_right_is_named_at_the_start_and_the_worker_goes_on_when_it_is_given(
    server, own_redis, allow, caplog
) -> None:
    allow("+@all", "-hincrby", "-zadd")
    job = Queue("mail", url=server.url).add("welcome")
    with working(server.url) as worker:
        wait_until(lambda: worker.health().missing_rights, "the missing rights are known")
        health = worker.health()
        assert (health.problems, health.missing_rights) == (("unauthorized",), ("+hincrby", "+zadd"))
        assert health.connected and not health.healthy
        [reported] = wait_until(lambda: warnings(caplog), "it is logged")
        assert "user 'app' lacks rights that a worker needs: +hincrby +zadd." in reported
        assert '"ACL SETUSER app +hincrby +zadd"' in reported and '"bullrush acl worker"' in reported
        assert "secret" not in caplog.text
        allow("+@all")
        assert job.wait_until_finished(timeout=20_000) == "done"
        wait_until(lambda: worker.health().healthy, "the worker has noticed")
        wait_until(lambda: "has all rights that a worker needs now" in warnings(caplog)[-1], "that is logged, too")
    assert own_redis.exists("bull:mail:ext:rights") == 0


@pytest.mark.parametrize(
    ("rules", "keys", "missing"),
    [
        ([*NEEDED, "-type"], "~bull:mail:*", "+type"),
        ([*NEEDED, "-evalsha"], "~bull:mail:*", "+evalsha"),
        (["+@all"], "~bull:other:*", "~bull:mail:*"),
    ],
)
def test_a_worker_waits_for_rights_without_which_it_cannot_look_at_its_queue(
    server, allow, caplog, rules, keys, missing
) -> None:
    allow(*rules, keys=keys)
    with working(server.url) as worker:
        wait_until(lambda: worker.health().missing_rights == (missing,), "the missing right is known")
        assert worker.health().problems == ("unauthorized",)
        # Without EVALSHA nothing can be tried: to give this right alone would only lead to the next warning.
        advice = "needs: at least +evalsha" if missing == "+evalsha" else f'"ACL SETUSER app {missing}"'
        reported = wait_until(lambda: warnings(caplog), "it is logged")[0]
        assert advice in reported and '"bullrush acl worker"' in reported
        allow("+@all")
        assert Queue("mail", url=server.url).add("welcome").wait_until_finished(timeout=20_000) == "done"


def test_a_worker_with_the_rights_of_its_role_says_nothing(server, allow, caplog) -> None:
    allow(*NEEDED)
    with working(server.url) as worker:
        assert Queue("mail", url=server.url).add("welcome").wait_until_finished(timeout=20_000) == "done"
        assert worker.health().healthy
    assert [text for text in warnings(caplog) if "rights" in text] == []
