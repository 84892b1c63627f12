"""`durable`: an add returns when a replica or the disk has its jobs, and never says so when they are not there."""

import asyncio
import contextlib
import os
import pickle
import signal
import threading
from collections.abc import Iterator

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, Tasks, aio, errors
from bullrush.embedded import EmbeddedRedis
from bullrush.rights import read_roles
from tests.waiting import wait_until

AOF = ["--appendonly", "yes", "--appendfsync"]


class Replica:
    """A replica that can be stopped."""

    def __init__(self, primary: "Redis[str]", redis: "Redis[str]") -> None:
        self.redis = redis
        self._pid = int(redis.info("server")["process_id"])
        redis.config_set("repl-timeout", 3600)
        primary.config_set("repl-timeout", 3600)
        primary.config_set("repl-diskless-sync-delay", 0)
        redis.execute_command("REPLICAOF", "127.0.0.1", primary.connection_pool.connection_kwargs["port"])
        wait_until(
            lambda: primary.info("replication").get("slave0", {}).get("state") == "online", "the replica is in sync"
        )

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        os.kill(self._pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._pid, signal.SIGCONT)


@pytest.fixture
def replica(own_redis, client_of) -> Iterator[Replica]:
    with EmbeddedRedis(port=0, password="") as server:
        yield Replica(own_redis, client_of(server))


class Call:
    """A call on a thread of its own."""

    def __init__(self, call) -> None:
        self.result = self.error = None
        self._thread = threading.Thread(target=self._run, args=(call,))
        self._thread.start()

    def _run(self, call) -> None:
        try:
            self.result = call()
        except errors.BullrushError as error:
            self.error = error

    @property
    def has_returned(self) -> bool:
        return not self._thread.is_alive()

    def end(self) -> "Call":
        self._thread.join(20)
        assert self.has_returned
        return self


def wait_until_blocked(redis) -> None:
    wait_until(lambda: int(redis.info("clients")["blocked_clients"]) == 1, "the call waits for the replica")


def greet() -> None:
    """Do nothing: it is only enqueued."""


ADDS = {
    "add": lambda queue: queue.add("n"),
    "add_bulk": lambda queue: queue.add_bulk([{"name": "n"}] * 300),
    "a job with a deduplication id": lambda queue: queue.add("n", deduplication={"id": "d"}),
    "add_flow": lambda queue: FlowProducer(url=queue._url, durable=True).add({"name": "n", "queue_name": "work"}),
    "scheduler": lambda queue: queue.upsert_job_scheduler("s", {"every": 60_000}),
    "route": lambda queue: queue.add("n", target={"capabilities": ["gpu"]}),
    "task": lambda queue: Tasks("work", url=queue._url, durable=True).task(greet).enqueue(),
    "pickled": lambda queue: pickle.loads(pickle.dumps(queue)).add("n"),
    "aio": lambda queue: asyncio.run(aio.Queue("work", url=queue._url, durable=True).add("n")),
}


@pytest.mark.parametrize("add", ADDS.values(), ids=ADDS.keys())
def test_an_add_returns_when_the_replica_has_the_jobs(add, server, own_redis, replica):
    queue = Queue("work", url=server.url, durable=True)
    queue.add("first")
    with replica.stopped():
        call = Call(lambda: add(queue))
        wait_until_blocked(own_redis)
        keys = sorted(own_redis.keys())
        # The connection of other calls is not held up.
        assert queue.get_job("1").name == "first"
        assert not call.has_returned
    assert call.end().error is None
    assert sorted(replica.redis.keys()) == keys


def test_an_add_that_no_replica_confirms_says_so(server, own_redis, replica):
    queue = Queue("work", url=server.url, durable=True, timeout=300)
    queue.add("first")
    with replica.stopped():
        with pytest.raises(
            errors.NotDurableError, match="jobs were added, but no replica has confirmed them within 300 ms"
        ):
            queue.add("second")
        assert own_redis.llen("bull:work:wait") == 2


def test_a_job_that_exists_already_is_waited_for_as_well(server, own_redis, replica):
    """Its first add may not have reached the replica."""
    queue = Queue("work", url=server.url, durable=True)
    queue.add("first")
    with replica.stopped():
        Queue("work", url=server.url).add("n", job_id="own")
        call = Call(lambda: queue.add("n", job_id="own"))
        wait_until_blocked(own_redis)
        assert not call.has_returned
    assert call.end().result.id == "own"
    assert replica.redis.exists("bull:work:own")


def test_a_connection_that_is_lost_while_it_waits_confirms_nothing(server, own_redis, replica):
    """The next connection would get the number of replicas at once, since it has written nothing."""
    queue = Queue("work", url=server.url, durable=True)
    queue.add("first")
    with replica.stopped():
        call = Call(lambda: queue.add("second", job_id="own"))
        wait_until_blocked(own_redis)
        (waiting,) = (client for client in own_redis.client_list() if "b" in client["flags"])
        own_redis.client_kill_filter(_id=waiting["id"])
        assert isinstance(call.end().error, errors.NotDurableError)
        assert own_redis.exists("bull:work:own")
    assert queue.add("second", job_id="own").id == "own"


def test_a_batch_waits_once(server, own_redis, replica):
    queue = Queue("work", url=server.url, durable="replica")
    queue.add_bulk([{"name": "n"}] * 1000)
    waits = own_redis.info("commandstats")["cmdstat_wait"]["calls"]
    queue.add_bulk([{"name": "n"}] * 1000)
    assert own_redis.info("commandstats")["cmdstat_wait"]["calls"] == waits + 1


def test_adds_of_many_callers_wait_together(server, own_redis, replica):
    """One after the other they would take longer than each of them has time."""

    async def add() -> None:
        async with aio.Queue("work", url=server.url, durable="replica") as queue:
            await queue.add("first")
            with replica.stopped():
                calls = [asyncio.create_task(queue.add_bulk([{"name": "n"}])) for _ in range(20)]
                await asyncio.to_thread(wait_until_blocked, own_redis)
            await asyncio.gather(*calls)

    asyncio.run(add())
    assert own_redis.info("commandstats")["cmdstat_wait"]["calls"] < 10
    assert replica.redis.llen("bull:work:wait") == 21


@pytest.mark.parametrize(
    ("durable", "lacks"),
    [(True, "no replica and no append-only file"), ("replica", "no replica"), ("aof", "no append-only file")],
)
def test_a_server_that_can_lose_everything_is_refused(durable, lacks, server, own_redis):
    queue = Queue("work", url=server.url, durable=durable, skip_metas_update=True)
    for add in (lambda: queue.add("n"), lambda: queue.add_bulk([{"name": "n"}] * 2)):
        with pytest.raises(errors.NotDurableError, match=f"{lacks}.*; nothing was added"):
            add()
    assert own_redis.keys() == []


def test_a_server_that_writes_each_time_has_nothing_to_wait_for(tmp_path, client_of):
    with EmbeddedRedis(tmp_path / "data", port=0, password="", args=[*AOF, "always"]) as server:
        assert Queue("work", url=server.url, durable=True).add("n").id == "1"


@pytest.mark.parametrize(("name", "value"), [("appendfsync", "everysec"), ("appendonly", "no")])
def test_a_server_that_no_longer_writes_each_time_confirms_nothing(name, value, tmp_path, client_of):
    with EmbeddedRedis(tmp_path / "data", port=0, password="", args=[*AOF, "always"]) as server:
        redis = client_of(server)
        if redis.execute_command("COMMAND INFO", "WAITAOF") not in ([None], {}):
            pytest.skip("since Redis 7.2 each add waits for the disk")
        queue = Queue("work", url=server.url, durable=True)
        queue.add("n")
        redis.config_set(name, value)
        with pytest.raises(errors.NotDurableError, match="were added, but the server no longer writes to its disk"):
            queue.add("n")
        assert redis.llen("bull:work:wait") == 2


def test_the_disk_is_waited_for_where_the_server_can(tmp_path, client_of):
    with EmbeddedRedis(tmp_path / "data", port=0, password="", args=[*AOF, "everysec"]) as server:
        redis = client_of(server)
        queue = Queue("work", url=server.url, durable="aof", skip_metas_update=True)
        if redis.execute_command("COMMAND INFO", "WAITAOF") in ([None], {}):
            with pytest.raises(errors.RedisVersionError, match="WAITAOF needs Redis 7.2"):
                queue.add("n")
            assert redis.keys() == []
        else:
            assert queue.add("n").id == "1"
            assert redis.info("commandstats")["cmdstat_waitaof"]["calls"] >= 2


def test_a_user_who_may_not_wait_learns_it_before_anything_is_written(server, own_redis, replica):
    own_redis.execute_command("ACL", "SETUSER", "app", "on", "nopass", "~*", "&*", "+@all", "-wait")
    url = server.url.replace("://", "://app:any@")
    with pytest.raises(errors.RedisServerError, match="NOPERM"):
        Queue("work", url=url, durable=True, skip_metas_update=True).add("n")
    assert own_redis.keys() == []


def test_a_user_who_may_not_ask_how_the_file_is_written_learns_which_right_is_missing(tmp_path, client_of):
    with EmbeddedRedis(tmp_path / "data", port=0, password="", args=[*AOF, "always"]) as server:
        redis = client_of(server)
        if redis.execute_command("COMMAND INFO", "WAITAOF") not in ([None], {}):
            pytest.skip("this server can be asked to wait for its disk")
        rule = read_roles()["producer"]
        commands = [f"+{command}" for command in (*rule.needed, *rule.useful)]
        redis.execute_command("ACL", "SETUSER", "app", "on", "nopass", "~*", "&*", *commands)
        queue = Queue("work", url=server.url.replace("://", "://app:any@"), durable=True, skip_metas_update=True)
        with pytest.raises(errors.RedisServerError, match="CONFIG GET, which.*config.get; nothing was added"):
            queue.add("n")
        assert redis.keys() == []
        redis.execute_command("ACL", "SETUSER", "app", "+config|get")
        assert queue.add("n").id == "1"


def test_other_values_are_refused():
    with pytest.raises(errors.InvalidOptionError, match="durable must be True, False, 'replica' or 'aof', not 'disk'"):
        Queue("work", durable="disk")
