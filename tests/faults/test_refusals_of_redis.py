"""Real servers that refuse: the codes of docs/refusals.md that a test can bring about.

Other files here have the rest.
"""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis, ResponseError

from bullrush import Queue, Worker, errors
from bullrush.base.operation import reply, run_blocking
from bullrush.cli.worker.check import check
from bullrush.doctor import Doctor
from bullrush.embedded import EmbeddedRedis
from tests.waiting import wait_until

#: A port that nobody listens on.
NOWHERE = 1


class Adding:
    """An add on a thread of its own."""

    def __init__(self, queue: Queue) -> None:
        self._ids: list[str] = []
        self._thread = threading.Thread(target=lambda: self._ids.append(queue.add("quick").id))
        self._thread.start()

    def end(self) -> str:
        self._thread.join(20)
        return self._ids[0]


def refusals(redis: "Redis[str]", code: str) -> int:
    """Return how many errors with this code the server has sent."""
    stats = redis.info("errorstats")
    return sum(int(found["count"]) for name, found in stats.items() if name == f"errorstat_{code}")


@pytest.mark.parametrize("database", [0, 3])
@pytest.mark.parametrize("connected", [True, False])
def test_a_call_waits_for_the_script_of_another_program(own_redis, client_of, server, database, connected):
    """BUSY: also at the first connection, which may choose a database."""
    queue = Queue("busy", url=f"{server.url.rpartition('/')[0]}/{database}")
    if connected:
        queue.add("quick")
    own_redis.config_set("lua-time-limit", 1)
    other = client_of(server)

    def run_without_end() -> None:
        with pytest.raises(ResponseError, match="killed"):
            other.eval("while true do end", 0)

    endless = threading.Thread(target=run_without_end)
    endless.start()

    def is_busy() -> bool:
        try:
            own_redis.get("any")
        except ResponseError as error:
            return "busy" in str(error).lower()
        return False

    wait_until(is_busy, "the script holds the server up")
    adding = Adding(queue)
    own_redis.execute_command("SCRIPT", "KILL")
    endless.join()
    assert adding.end() == ("2" if connected else "1")


def test_a_call_waits_for_a_replica_that_becomes_the_primary_again(queue, own_redis):
    """MASTERDOWN: the replica has lost its primary, and knows that its data are old."""
    queue.add("quick")
    own_redis.config_set("replica-serve-stale-data", "no")
    own_redis.execute_command("REPLICAOF", "127.0.0.1", NOWHERE)
    adding = Adding(queue)
    wait_until(lambda: refusals(own_redis, "MASTERDOWN"), "the call is refused")
    own_redis.execute_command("REPLICAOF", "NO", "ONE")
    assert adding.end() == "2"


def test_a_worker_whose_wait_is_ended_by_the_server_goes_on(queue, own_redis, server):
    """UNBLOCKED."""
    worker = Worker(queue.name, lambda job: True, url=server.url, drain_delay=60_000)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: int(own_redis.info("clients")["blocked_clients"]), "the worker waits")
        own_redis.execute_command("REPLICAOF", "127.0.0.1", NOWHERE)
        wait_until(lambda: refusals(own_redis, "UNBLOCKED"), "the server has ended the wait")
        own_redis.execute_command("REPLICAOF", "NO", "ONE")
        queue.add("quick")
        wait_until(lambda: queue.get_completed_count() == 1, "the job is done")
    finally:
        worker.close()
        working.join()


def fill_the_memory(redis: "Redis[str]") -> None:
    redis.config_set("maxmemory", 1)


def take_the_replicas(redis: "Redis[str]") -> None:
    redis.config_set("min-replicas-to-write", 1)


def break_the_disk(redis: "Redis[str]") -> None:
    folder = Path(redis.config_get("dir")["dir"])
    redis.config_set("save", "3600 1")
    shutil.rmtree(folder)
    redis.bgsave()
    wait_until(lambda: redis.info("persistence")["rdb_last_bgsave_status"] == "err", "the save has failed")


@pytest.mark.parametrize(
    ("refuse", "code", "finding"),
    [
        (fill_the_memory, "OOM", "BR006"),
        (break_the_disk, "MISCONF", "BR005"),
        (take_the_replicas, "NOREPLICAS", "BR012"),
    ],
    ids=["memory", "disk", "replicas"],
)
def test_the_check_of_a_worker_and_the_doctor_say_that_all_writes_are_refused(
    refuse, code, finding, queue, server, own_redis, capsys
):
    queue.add("quick")
    before = {key: own_redis.dump(key) for key in own_redis.scan_iter()}
    worker = Worker(queue.name, lambda job: True, url=server.url)
    assert check([worker]) == 0
    refuse(own_redis)
    assert check([worker]) == 3
    ended = capsys.readouterr()
    assert f"{worker!r}: {code} " in ended.err
    assert ended.out.count("ready") == 1
    assert finding in [found.code for found in Doctor(server.url).examine().findings]
    assert {key: own_redis.dump(key) for key in own_redis.scan_iter()} == before
    own_redis.config_set("save", "")  # or it tries again when it stops


def test_a_server_that_cannot_write_to_its_disk_is_reported_at_once(queue, own_redis):
    """MISCONF."""
    queue.add("quick")
    break_the_disk(own_redis)
    with pytest.raises(errors.RedisServerError) as caught:
        queue.add("quick")
    assert caught.value.code == "MISCONF"
    assert queue.get_waiting_count() == 1
    own_redis.config_set("stop-writes-on-bgsave-error", "no")
    own_redis.config_set("save", "")  # or it tries again when it stops
    assert queue.add("quick").id == "2"


def test_a_key_that_another_program_has_overwritten_is_reported_at_once(queue, own_redis):
    """WRONGTYPE."""
    queue.add("quick")
    own_redis.delete("bull:work:wait")
    own_redis.set("bull:work:wait", "a text")
    with pytest.raises(errors.RedisServerError) as caught:
        queue.add("quick")
    assert caught.value.code == "WRONGTYPE"


def test_a_server_without_a_command_is_reported_at_once():
    """ERR."""
    with (
        EmbeddedRedis(port=0, password="", args=["--rename-command", "EVALSHA", ""]) as server,
        Queue("work", url=server.url) as queue,
    ):
        with pytest.raises(errors.RedisServerError, match="unknown command") as caught:
            queue.add("quick")
        assert caught.value.code == "ERR"


@pytest.fixture
def small_cluster(cluster: str) -> Iterator["Redis[str]"]:
    with Redis.from_url(cluster, decode_responses=True) as redis:
        yield redis
        redis.flushall()


def test_a_call_waits_for_a_cluster_that_is_down(cluster, small_cluster):
    """CLUSTERDOWN."""
    queue = Queue("work", url=cluster, prefix="{bull}")
    queue.add("quick")
    slot = small_cluster.execute_command("CLUSTER KEYSLOT", "{other}")
    small_cluster.execute_command("CLUSTER DELSLOTS", slot)
    adding = Adding(queue)
    wait_until(lambda: refusals(small_cluster, "CLUSTERDOWN"), "the call is refused")
    small_cluster.execute_command("CLUSTER ADDSLOTS", slot)
    assert adding.end() == "2"


def test_a_command_over_two_slots_is_reported_at_once(cluster, small_cluster):
    """CROSSSLOT."""
    queue = Queue("work", url=cluster, prefix="{bull}")

    async def touch_both() -> None:
        await reply(queue.core.commands([["EXISTS", "{a}:1", "{b}:1"]]))

    with pytest.raises(errors.RedisServerError) as caught:
        run_blocking(touch_both())
    assert caught.value.code == "CROSSSLOT"


def test_a_full_server_is_asked_again(server, own_redis):
    """It sends "max number of clients reached" and closes the connection."""
    own_redis.config_set("maxclients", len(own_redis.client_list()))
    adding = Adding(Queue("work", url=server.url, timeout=20_000))
    wait_until(lambda: int(own_redis.info("stats")["rejected_connections"]), "the connection is refused")
    own_redis.config_set("maxclients", 100)
    assert adding.end() == "1"
