"""Sentinel: another server takes over, workers and producers follow by themselves, no write goes to a replica."""

import re
import threading
import time
from collections.abc import Iterator

import pytest

from bullrush import Queue, Worker, errors
from bullrush.doctor import Doctor
from docs.build.rights import PAGE
from tests.driver.ledger import Ledger
from tests.servers.sentinel import SERVICE, SentinelServers, port_of
from tests.waiting import wait_until
from tests.watching import is_connected

from .fake_server import FakeServer
from .handlers import Handlers

#: A failover changes the servers for the tests after it, so these run one after the other in one process.
pytestmark = [pytest.mark.xdist_group("sentinel"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def sentinel() -> Iterator[SentinelServers]:
    """Return servers whose failover takes about 3 s."""
    login = ("app", "of-sentinel")
    with SentinelServers(down_after=1500, password="of-redis", sentinel_login=login) as servers:
        yield servers


@pytest.fixture
def queue(sentinel: SentinelServers) -> Queue:
    return Queue("work", url=sentinel.url, timeout=30_000)


class Load:
    """A worker and a producer that add and work jobs all the time."""

    def __init__(self, url: str, ledger) -> None:
        self.worker = Worker(
            "work", Handlers(ledger), url=url, concurrency=4, lock_duration=10_000, stalled_interval=1000
        )
        self._producer = Queue("work", url=url, timeout=30_000)
        self._enough = threading.Event()
        self._ledger = ledger
        self._threads = [threading.Thread(target=self.worker.run), threading.Thread(target=self._produce)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        wait_until(lambda: len(self._ledger.ended) > 100, "the worker is under load")
        return self

    def __exit__(self, *_exception: object) -> None:
        self._enough.set()
        self._threads[1].join()
        self.worker.close()
        self._threads[0].join()

    def end_producing(self) -> None:
        self._enough.set()
        self._threads[1].join()

    def _produce(self) -> None:
        number = 0
        while not self._enough.is_set():
            number += 1
            self._ledger.acknowledge([self._producer.add("brief", job_id=f"job-{number}").id])


class StaleSentinel(FakeServer):
    """A Sentinel that was cut off from the others: it still names another server."""

    def __init__(self, port: int) -> None:
        self._reply = b"*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%d\r\n" % (len(str(port)), port)
        super().__init__("7.0.0")

    def answer(self, command: list[bytes]) -> bytes:
        return self._reply if command[0].upper() == b"SENTINEL" else super().answer(command)


def replica_of(sentinel: SentinelServers):
    master = sentinel.master()
    return next(server for server in sentinel.servers if server is not master and server.alive)


def test_nothing_is_written_to_a_replica_even_if_a_sentinel_names_it(sentinel):
    replica = replica_of(sentinel)
    with sentinel.connect(replica) as redis, StaleSentinel(port_of(replica)) as stale:
        redis.config_set("replica-read-only", "no")  # the most dangerous case: the replica would take it
        wrong = sentinel.url_of(stale.server_address[1])
        try:
            with pytest.raises(errors.ConnectionLostError, match="is a replica"):
                Queue("stale", url=wrong, timeout=1500).add("any")
            assert redis.keys("bull:stale:*") == []
            both = sentinel.url_of(stale.server_address[1], *map(port_of, sentinel.sentinels))
            Queue("stale", url=both).add("any")
        finally:
            redis.config_set("replica-read-only", "yes")
    with sentinel.connect(sentinel.master()) as redis:
        assert redis.llen("bull:stale:wait") == 1


def test_the_doctor_looks_at_the_master_that_the_sentinels_name(sentinel, queue):
    queue.add("any")
    with sentinel.connect(sentinel.master()) as redis:
        redis.set("bull:work:limiter", 9)
        report = Doctor(sentinel.url).examine(["work"], deep=True)
        redis.delete("bull:work:limiter")
    assert report.skipped == []
    assert [finding.code for finding in report.findings if finding.code not in {"BR004", "BR107"}] == ["BR106"]
    with pytest.raises(errors.ConnectionLostError, match=r"the Sentinel at 127\.0\.0\.1:1: "):
        Doctor(sentinel.url_of(1), timeout=500).examine()


def test_a_sentinel_that_does_not_answer_is_passed_over(sentinel, queue):
    gone = sentinel.url_of(1, *map(port_of, sentinel.sentinels))
    assert Queue("work", url=gone).get_job_counts("wait") == queue.get_job_counts("wait")
    with pytest.raises(errors.ConnectionLostError, match=r"the Sentinel at 127\.0\.0\.1:1: "):
        Queue("work", url=sentinel.url_of(1), timeout=500).add("any")


def test_a_wrong_name_of_the_master_is_an_error_at_once(sentinel):
    wrong = sentinel.url.replace(f"/{SERVICE}", "/other")
    with pytest.raises(errors.ConnectionLostError, match="knows no master other"):
        Queue("work", url=wrong, timeout=60_000).add("any")


def test_the_url_of_one_server_that_leads_to_a_sentinel_is_an_error_at_once_that_names_the_right_url(sentinel):
    plain = sentinel.sentinels[0].url.rpartition("/")[0]
    as_user = plain.replace("://", "://app:of-sentinel@")
    # Without a login it may not ask what the server is.
    for url in (plain, as_user, f"{as_user}/1"):
        with (
            Queue("work", url=url) as queue,
            pytest.raises(errors.InvalidOptionError, match=r"a Sentinel.* redis\+sentinel://"),
        ):
            queue.add("n")


def test_the_rule_for_a_user_of_the_sentinels_is_enough(sentinel):
    (rule,) = re.findall(r"^(ACL SETUSER sentinel-client .*)$", PAGE.read_text(), re.MULTILINE)
    with sentinel.ask(sentinel.sentinels[0]) as redis:
        redis.execute_command(*rule.replace("PASSWORD", "other").split())
        redis.execute_command("ACL", "LOG", "RESET")
        url = sentinel.url_of(port_of(sentinel.sentinels[0])).partition("?")[0]
        url += "?sentinel_username=sentinel-client&sentinel_password=other"
        with Queue("work", url=url) as queue:
            queue.add("n")
            listens = {"user": "sentinel-client", "sub": "3", "psub": "1"}
            wait_until(lambda: any(listens.items() <= one.items() for one in redis.client_list()), "it listens")
        denied = {entry["object"] for entry in redis.acl_log()}
        redis.execute_command("ACL", "DELUSER", "sentinel-client")
    assert denied == set()


def test_a_sentinel_that_refuses_the_login_is_an_error_at_once(sentinel):
    wrong = sentinel.url.replace("=of-sentinel", "=wrong")
    with pytest.raises(errors.RedisServerError, match="WRONGPASS.*sentinel_password") as caught:
        Queue("work", url=wrong, timeout=60_000).add("any")
    assert "=wrong" not in str(caught.value)
    with pytest.raises(errors.RedisServerError, match="NOPERM.*sentinel_password"):
        Queue("work", url=sentinel.url.partition("?")[0], timeout=60_000).add("any")


def seconds_until_work_goes_on(load: Load, queue: Queue, ledger: Ledger) -> float:
    """Wait until producer and worker go on, and until nothing is left; return the seconds until the first job."""
    began, seen = time.monotonic(), len(ledger.ended)
    wait_until(lambda: len(ledger.ended) > seen, "the worker goes on")
    took = time.monotonic() - began
    wait_until(lambda: len(ledger.ended) > seen + 100, "producer and worker go on")
    load.end_producing()
    wait_until(lambda: not any(queue.get_job_counts("wait", "active").values()), "nothing is stuck")
    return took


def test_a_killed_master_is_replaced_and_work_goes_on_within_2_seconds(sentinel, queue, ledger):
    before = sentinel.master()
    with Load(sentinel.url, ledger) as load:
        before.kill()
        after = sentinel.wait_for_other_master(before)
        took = seconds_until_work_goes_on(load, queue, ledger)
    with sentinel.connect(after) as redis:
        completed = set(redis.zrange("bull:work:completed", 0, -1))
        # What the replica had not got yet when the master was killed is lost; the last adds before it, and no others.
        lost = [job_id for job_id in ledger.acknowledged if job_id not in completed]
        assert len(lost) <= 50, lost
        assert set(ledger.ended) >= completed
    assert took < 2, "within 2 s of the new master"


def test_a_planned_failover_under_load_loses_nothing_and_an_idle_worker_follows(sentinel, queue, ledger):
    queue.obliterate(force=True)
    idle = Worker("idle", Handlers(ledger), url=sentinel.url)
    waiting = threading.Thread(target=idle.run)
    waiting.start()
    try:
        with sentinel.connect(sentinel.master()) as redis:
            wait_until(lambda: is_connected(redis), "it waits for jobs")
        with Load(sentinel.url, ledger) as load, sentinel.connect(sentinel.fail_over()) as redis:
            took = seconds_until_work_goes_on(load, queue, ledger)
            wait_until(lambda: is_connected(redis), "workers wait for jobs at the new master")
            completed = set(redis.zrange("bull:work:completed", 0, -1))
        job = Queue("idle", url=sentinel.url).add("quick")
        wait_until(lambda: job.get_state() == "completed", "the idle worker has followed")
    finally:
        idle.close()
        waiting.join()
    assert set(ledger.acknowledged) - completed == set(), "acknowledged, but lost"
    assert ledger.duplicates <= 4, "only jobs that were in hand run again"
    assert took < 2, "within 2 s of the new master"
