"""A server or a queue that cannot be used: producers and workers get an error of a clear type, nothing is written."""

import http.server
import threading
from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import Queue, Worker, errors
from tests.waiting import wait_until

from .fake_server import FakeServer

Use = Callable[..., object]


def add(name: str, **options: object) -> None:
    Queue(name, **options).add("quick")


def work(name: str, **options: object) -> None:
    Worker(name, lambda job: None, **options).run(max_seconds=10)


USES = pytest.mark.parametrize("use", [add, work], ids=["producer", "worker"])


@USES
def test_a_server_that_is_too_old_is_refused(use: Use):
    with FakeServer("5.0.14") as server, pytest.raises(errors.RedisVersionError, match=r"6\.2\.0 Current: 5\.0\.14"):
        use("work", url=server.url)
    assert server.touched == []


def test_a_replica_is_named_with_what_to_do(server, own_redis):
    own_redis.replicaof("127.0.0.1", 1)
    try:
        with pytest.raises(
            errors.ConnectionLostError, match="cannot reach a master.*READONLY.*nothing was written. A repl"
        ):
            add("work", url=server.url, timeout=500)
        assert own_redis.keys() == []
    finally:
        own_redis.replicaof("NO", "ONE")


def test_a_worker_is_not_healthy_while_its_server_is_a_replica(server, own_redis):
    """Reading works there, so that Redis answers."""
    worker = Worker("work", lambda job: None, url=server.url, autorun=True)
    try:
        wait_until(lambda: (worker.health().last_fetch_age or -1) >= 0, "it works")
        Queue("work", url=server.url).add("due", delay=500)
        own_redis.replicaof("127.0.0.1", 1)
        wait_until(lambda: worker.health().refusal == "READONLY", "it knows why")
        for _ in range(20):
            assert set(worker.health().problems) & {"refused", "disconnected"}
        own_redis.replicaof("NO", "ONE")
        wait_until(lambda: worker.health().healthy and own_redis.zcard("bull:work:completed") == 1, "it works again")
    finally:
        own_redis.replicaof("NO", "ONE")
        worker.close()


@USES
def test_a_queue_of_bull_is_refused(use: Use, server, own_redis):
    own_redis.sadd("bull:work:completed", "1")
    own_redis.lpush("bull:work:wait", "2")
    with pytest.raises(errors.LegacyQueueError, match="belongs to Bull"):
        use("work", url=server.url)
    assert sorted(own_redis.keys()) == ["bull:work:completed", "bull:work:wait"]
    assert own_redis.lrange("bull:work:wait", 0, -1) == ["2"]


@USES
def test_keys_of_something_else_are_refused(use: Use, server, own_redis):
    own_redis.set("bull:work:wait", "a text")
    with pytest.raises(errors.LegacyQueueError, match="do not belong to a BullMQ queue"):
        use("work", url=server.url)
    assert own_redis.keys() == ["bull:work:wait"]


@USES
def test_a_queue_without_a_hash_tag_is_refused_by_a_cluster(use: Use, cluster):
    with pytest.raises(errors.QueueNameError, match=r"\{bull\}"):
        use("work", url=cluster)
    with Redis.from_url(cluster) as redis:
        assert redis.keys() == []


@pytest.mark.parametrize(("name", "prefix"), [("work", "{bull}"), ("{work}", "bull")])
def test_a_queue_with_a_hash_tag_works_on_a_cluster(name, prefix, cluster):
    job = Queue(name, url=cluster, prefix=prefix).add("quick")
    stats = Worker(name, lambda job: "done", url=cluster, prefix=prefix).run(until="drained")
    assert stats.completed == 1
    assert Queue(name, url=cluster, prefix=prefix).get_job(job.id).returnvalue == "done"


@pytest.mark.parametrize(("login", "code"), [(":wrong@", "WRONGPASS"), ("", "NOAUTH")])
@USES
def test_a_wrong_or_missing_password_is_an_error(use: Use, server, own_redis, login, code):
    own_redis.config_set("requirepass", "right")
    with pytest.raises(errors.RedisServerError) as caught:
        use("work", url=server.url.replace("://", f"://{login}"))
    assert caught.value.code == code
    assert "wrong" not in str(caught.value)
    assert ("redis://:PASSWORD@host:6379" in str(caught.value)) == (code == "NOAUTH")


def test_a_worker_that_ends_by_a_wrong_password_does_not_say_that_it_tries_again(server, own_redis, caplog):
    own_redis.config_set("requirepass", "right")
    for url in (server.url.replace("://", "://:wrong@"), server.url.replace("redis://", "rediss://")):
        caplog.clear()
        with pytest.raises(errors.BullrushError):
            Worker("work", lambda job: None, url=url).run(max_seconds=30)
        assert "tries again" not in caplog.text
        # The run may end before the loss is reported.
        lost = [text for record in caplog.records if "cannot reach Redis" in (text := record.getMessage())]
        assert all(text.endswith("). The worker ends") for text in lost)


def test_a_server_that_is_not_redis_is_a_connection_error():
    """For example a web server: it answers, but not with the Redis protocol."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            queue = Queue("work", url=f"redis://127.0.0.1:{server.server_address[1]}/0", timeout=500)
            with pytest.raises(errors.ConnectionLostError):
                queue.add("quick")
        finally:
            server.shutdown()
            serving.join()
