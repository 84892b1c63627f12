"""Listening where Redis cannot be reached, refuses it, or has no room for a connection."""

import threading
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, Notifications, Queue, Worker, errors
from bullrush.embedded import EmbeddedRedis
from bullrush.notifications import notifications as calls
from tests.faults.proxy import Proxy
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def short_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_TIMEOUT_MS", 500)


def test_a_user_without_the_channel_gets_an_error_and_may_get_the_right_later(
    own_redis: Redis, server: EmbeddedRedis
) -> None:
    own_redis.acl_setuser(
        "deaf", enabled=True, passwords=["+s3cret"], keys=["*"], commands=["+@all"], reset_channels=True
    )
    heard: list[int] = []
    with Notifications(server.url.replace("//", "//deaf:s3cret@")) as notifications:
        for _ in range(2):
            with pytest.raises(errors.RedisServerError, match="NOPERM") as refused:
                notifications.listen("sched", "a", lambda: heard.append(1))
            assert "s3cret" not in str(refused.value)
        own_redis.execute_command("ACL", "SETUSER", "deaf", "&bull:ext:sched")
        notifications.listen("sched", "a", lambda: heard.append(2))
        with pytest.raises(errors.RedisServerError, match="NOPERM"):
            notifications.listen("owls", "a:1", lambda: heard.append(3))
        assert notifications.publish("sched", "a") == 1
        wait_until(lambda: heard == [2])
        with pytest.raises(errors.RedisServerError, match="NOPERM"):
            notifications.publish("owls", "a")


def test_a_server_without_room_for_a_connection_is_an_error(own_redis: Redis, server: EmbeddedRedis) -> None:
    own_redis.config_set("maxclients", 1)
    with Notifications(server.url) as notifications:
        with pytest.raises(errors.ConnectionLostError):
            notifications.listen("sched", "a", print)
        own_redis.config_set("maxclients", 100)
        heard: list[str] = []
        wait_until(lambda: listens(notifications, heard))
        own_redis.publish("bull:ext:sched", "a")
        wait_until(lambda: heard == ["a"])


def listens(notifications: Notifications, heard: list[str]) -> bool:
    try:
        notifications.listen("sched", "a", heard.append)
    except errors.ConnectionLostError:
        return False
    return True


def test_every_cut_leads_to_one_call(own_redis: Redis, proxy: Proxy) -> None:
    calls = 0

    def look() -> None:
        nonlocal calls
        calls += 1

    with Notifications(proxy.url) as notifications:
        notifications.listen("sched", "a", look)
        for cuts in range(1, 4):
            proxy.cut()
            wait_until(lambda cuts=cuts: calls == cuts)
        proxy.swallow(on=True)
        own_redis.publish("bull:ext:sched", "a")
        proxy.reset()
        proxy.swallow(on=False)
        proxy.cut()
        wait_until(lambda: calls == 4)


def test_a_wrong_password_is_an_error(own_redis: Redis, server: EmbeddedRedis) -> None:
    own_redis.acl_setuser("me", enabled=True, passwords=["+right"], keys=["*"], commands=["+@all"], channels=["*"])
    with Notifications(server.url.replace("//", "//me:s3cret@")) as notifications:
        with pytest.raises(errors.RedisServerError, match="WRONGPASS") as refused:
            notifications.listen("sched", "a", print)
        assert "s3cret" not in str(refused.value)


def test_a_worker_without_room_for_its_listener_works_and_listens_later(
    own_redis: Redis, server: EmbeddedRedis, queue: Queue
) -> None:
    """Its listener loses the connection, and Redis has no room for another one."""
    started, cancelled = threading.Event(), threading.Event()

    def handler(job: Job) -> str | None:
        if job.name == "quick":
            return "done"
        started.set()
        while not job.cancelled:
            cancelled.wait(0.01)
        cancelled.set()
        return None

    options: Any = {"url": server.url, "notify": True, "concurrency": 2, "skip_stalled_check": True}
    with Worker(queue.name, handler, autorun=True, **options) as worker:
        long = queue.add("long")
        assert started.wait(20)
        wait_until(lambda: len(own_redis.client_list(_type="pubsub")) == 1)
        room = own_redis.config_get("maxclients")["maxclients"]
        own_redis.config_set("maxclients", len(own_redis.client_list()) - 1)
        own_redis.client_kill_filter(_type="pubsub")
        own_redis.delete(queue.to_key(f"{long.id}:lock"))
        assert queue.add("quick").wait_until_finished(timeout=20_000) == "done"
        assert own_redis.client_list(_type="pubsub") == [] and not cancelled.is_set()
        own_redis.config_set("maxclients", room)
        # It may have missed messages, so it looks.
        assert cancelled.wait(7)
        worker.close(force=True)


def test_a_message_that_is_too_long_is_a_line_in_the_log(queue, own_redis, proxy, caplog):
    """Whoever publishes it: the listener leaves the connection, and says why."""
    with Worker(queue.name, lambda job: None, url=proxy.url, notify=True, autorun=True):
        (channel, *_) = wait_until(lambda: own_redis.pubsub_channels("*:ext:*"), "the worker listens")
        own_redis.publish(channel, "x" * 2_000_000)
        wait_until(lambda: "a message on it had more than 1 MB" in caplog.text, "the log says it")
        assert queue.add("n").wait_until_finished(timeout=10_000) is None
