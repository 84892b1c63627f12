"""BR001 to BR010: each fault of a server is named, and a healthy server has none."""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis import Redis

from bullrush import Queue
from bullrush._core import key_slot, now_ms, stop_clock
from bullrush.doctor import Doctor, Finding
from bullrush.embedded import EmbeddedRedis
from bullrush.errors import RedisServerError
from bullrush.rights import acl_rule, read_roles
from tests.faults.fake_server import FakeServer
from tests.faults.refusing_server import RefusingServer
from tests.servers.ports import free_port
from tests.waiting import wait_until

NO_QUEUE = "no queue has the prefix bull: is it right? --prefix gives another one"


def found(url: str) -> list[Finding]:
    report = Doctor(url).examine()
    assert report.skipped in ([], [NO_QUEUE])
    return report.findings


def test_a_healthy_server_has_no_finding(own_server: Callable) -> None:
    url, redis = own_server()
    Queue("mail", url=url).add("welcome")
    report = Doctor(url).examine(deep=True)
    assert (report.queues, report.findings, report.skipped) == (["mail"], [], [])
    assert sorted(redis.keys()) == [f"bull:mail:{part}" for part in ("1", "events", "id", "marker", "meta", "wait")]


def test_a_server_that_is_too_old_is_named() -> None:
    with FakeServer("5.0.14") as server:
        [finding] = found(server.url)
    assert finding.code == "BR001" and "5.0.14" in finding.detail


def test_a_replica_is_named(own_server: Callable) -> None:
    url, redis = own_server()
    redis.replicaof("127.0.0.1", 1)
    assert [finding.code for finding in found(url)] == ["BR002"]


def test_a_policy_that_evicts_keys_is_named(own_server: Callable) -> None:
    url, redis = own_server()
    redis.config_set("maxmemory-policy", "volatile-lru")
    [finding] = found(url)
    assert finding.code == "BR003" and "volatile-lru" in finding.detail


def test_a_server_that_writes_nothing_to_disk_is_named(own_server: Callable) -> None:
    url, _ = own_server(persistence=False)
    [finding] = found(url)
    assert (finding.code, finding.about.severity) == ("BR004", "warning")


def test_a_snapshot_that_failed_is_named(own_server: Callable, tmp_path: Path) -> None:
    url, redis = own_server()
    (tmp_path / "data" / "dump.rdb").mkdir()
    redis.bgsave()
    wait_until(lambda: redis.info("persistence")["rdb_last_bgsave_status"] == "err")
    assert [finding.code for finding in found(url)] == ["BR005"]


def test_memory_that_is_nearly_full_is_named(own_server: Callable) -> None:
    url, redis = own_server()
    redis.config_set("maxmemory", redis.info("memory")["used_memory"] * 110 // 100)
    assert [finding.code for finding in found(url)] == ["BR006"]


def test_clocks_that_differ_are_named(own_server: Callable) -> None:
    url, _ = own_server()
    try:
        stop_clock(now_ms() + 60_000)
        [finding] = found(url)
    finally:
        stop_clock(None)
    assert finding.code == "BR007" and float(finding.detail.split()[3]) == pytest.approx(60, abs=10)


def test_connections_that_are_nearly_used_up_are_named(own_server: Callable) -> None:
    url, redis = own_server()
    clients = [Redis.from_url(url) for _ in range(16)]
    for client in clients:
        client.ping()
    redis.config_set("maxclients", 20)
    [finding] = found(url)
    assert finding.code == "BR008" and "of 20 connections" in finding.detail
    for client in clients:
        client.close()


def test_keys_without_a_hash_tag_on_a_cluster_are_named(own_server: Callable) -> None:
    url, redis = own_server(port=free_port(), args=["--cluster-enabled", "yes"])
    redis.execute_command("CLUSTER", "ADDSLOTS", *range(16_384))
    wait_until(lambda: "cluster_state:ok" in redis.execute_command("CLUSTER", "INFO"))
    redis.hset("bull:mail:meta", "version", "bullmq:5.62.0")
    Queue("{video}", url=url).add("render")
    report = Doctor(url).examine()
    assert [(finding.code, finding.queue) for finding in report.findings] == [("BR010", "mail")]
    assert report.queues == ["{video}"]


class HalfACluster(RefusingServer):
    """A master of a cluster; the other one does not answer."""

    def refusal(self, command: list[bytes]) -> bytes | None:
        if command[0].upper() != b"CLUSTER":
            return super().refusal(command)
        rows = [(0, 8191, self.server_address[1]), (8192, 16383, 1)]
        row = "*3\r\n:{}\r\n:{}\r\n*2\r\n$9\r\n127.0.0.1\r\n:{}\r\n"
        return "".join(["*2\r\n", *(row.format(*part) for part in rows)]).encode()


def test_a_master_that_does_not_answer_is_named_and_the_others_are_looked_at(own_server: Callable) -> None:
    url, _ = own_server()
    names = {
        half: next(f"{{{n}}}" for n in range(99) if (key_slot(f"{{{n}}}") < 8192) == half) for half in (True, False)
    }
    for name in names.values():
        Queue(name, url=url).add("send")
    with HalfACluster(urlsplit(url).port or 0) as master:
        report = Doctor(f"redis+cluster://127.0.0.1:{master.server_address[1]}").examine(names.values())
    assert [(one.code, one.detail) for one in report.findings] == [("BR011", "127.0.0.1:1: no answer within 1,250 ms")]
    assert report.queues == [names[True]]
    assert report.skipped == [f"the queue {names[False]}: its master does not answer"]


def test_what_is_refused_is_reported(own_server: Callable) -> None:
    url, redis = own_server()
    redis.acl_setuser("app", enabled=True, nopass=True, keys="*", commands=["+@all", "-info", "-config", "-client"])
    report = Doctor(as_user(url)).examine()
    assert "BR003" in " ".join(report.skipped) and "NOPERM" in report.skipped[1]


def as_user(url: str) -> str:
    return url.replace("//", "//app:x@", 1)


def test_rights_that_are_missing_are_named(own_server: Callable) -> None:
    url, redis = own_server()
    redis.acl_setuser("app", enabled=True, nopass=True, keys=["bull:*"], commands=["+@all", "-lpush", "-zadd"])
    [finding] = found(as_user(url))
    assert (finding.code, finding.detail) == ("BR009", "the commands +lpush +zadd")
    redis.acl_setuser("app", reset=True, enabled=True, nopass=True, keys=["other:*"], commands=["+@all"])
    [finding] = Doctor(as_user(url)).examine(["mail"]).findings
    assert (finding.code, finding.detail) == ("BR009", "the keys ~bull:mail:*")
    redis.acl_setuser("app", reset=True, enabled=True, nopass=True, keys=["bull:*"], commands=["+@all"])
    assert found(as_user(url)) == []
    assert redis.keys() == []


def test_the_keys_of_a_user_are_not_judged_by_a_queue_that_does_not_exist(own_server: Callable) -> None:
    url, redis = own_server()
    redis.acl_setuser("app", enabled=True, nopass=True, keys=["bull:mail:*"], commands=["+@all"])
    report = Doctor(as_user(url)).examine()
    assert report.findings == []
    assert any("BR009" in text and "--queue" in text for text in report.skipped)


def test_a_server_that_wants_more_replicas_than_it_has_is_named(own_server: Callable) -> None:
    url, redis = own_server()
    redis.config_set("min-replicas-to-write", 1)
    [finding] = found(url)
    assert finding.code == "BR012"
    assert finding.detail == (
        "min-replicas-to-write wants at least 1, and the server has 0 replicas that are connected and up to date"
    )
    redis.config_set("min-replicas-max-lag", 0)
    assert found(url) == []


@pytest.fixture
def replicated(own_server: Callable, tmp_path: Path) -> Iterator[tuple[str, Redis]]:
    """A server with one replica."""
    url, redis = own_server()
    args = ["--replicaof", "127.0.0.1", str(urlsplit(url).port)]
    with EmbeddedRedis(tmp_path / "replica", port=0, password="", args=args):
        wait_until(lambda: redis.info("replication").get("slave0", {}).get("state") == "online")
        yield url, redis


def test_a_reader_does_not_call_a_server_healthy_whose_wanted_replicas_it_cannot_know(replicated) -> None:
    url, redis = replicated
    role = read_roles()["reader"]
    redis.execute_command(*acl_rule([*role.needed, *role.useful], user="app", password="x").split())
    redis.config_set("min-replicas-to-write", 3)
    report = Doctor(as_user(url), roles=["reader"]).examine()
    assert report.findings == []
    [text] = [text for text in report.skipped if text.startswith("BR012")]
    assert "CONFIG GET is refused; the server has 1 replica that is connected" in text
    assert [finding.code for finding in Doctor(url).examine().findings] == ["BR012"]


def test_the_right_without_which_others_cannot_be_tried_is_called_so(own_server: Callable) -> None:
    url, redis = own_server()
    redis.acl_setuser("app", enabled=True, nopass=True, keys=["bull:*"], commands=["+@all", "-evalsha", "-lpush"])
    [finding] = found(as_user(url))
    assert (finding.code, finding.detail) == ("BR009", "at least +evalsha, without which others cannot be tried")


def test_a_user_of_one_queue_needs_no_other_keys(own_server: Callable) -> None:
    url, redis = own_server()
    for name in ("mail", "video"):
        Queue(name, url=url).add("send")
    redis.acl_setuser("app", enabled=True, nopass=True, keys=["bull:mail:*"], commands=["+@all"])
    report = Doctor(as_user(url)).examine(["mail"], deep=True)
    assert (report.queues, report.findings, report.skipped) == (["mail"], [], [])
    report = Doctor(as_user(url)).examine()
    assert (report.queues, report.findings) == (["mail"], [])
    assert [text.partition(": NOPERM")[0] for text in report.skipped] == ["the queue video"]


@pytest.mark.parametrize("name", read_roles())
def test_a_user_of_each_role_can_look_and_what_it_cannot_see_is_said(own_server: Callable, name: str) -> None:
    url, redis = own_server()
    with Queue("mail", url=url) as queue:
        queue.add("send", {}, delay=60_000)
    role = read_roles()[name]
    rule = acl_rule([*role.needed, *role.useful], user="app", password="x")
    redis.execute_command(*rule.split())
    report = Doctor(as_user(url), roles=[name]).examine(["mail"], deep=True)
    assert (report.queues, report.findings) == (["mail"], [])
    if name in {"reader", "admin"}:
        assert report.skipped == []
    else:
        assert "NOPERM" in " ".join(report.skipped), "it may not read all keys of the server, and that is said"


def test_a_reader_lacks_the_rights_of_a_worker(own_server: Callable) -> None:
    url, redis = own_server()
    role = read_roles()["reader"]
    redis.execute_command(*acl_rule([*role.needed, *role.useful], user="app", password="x").split())
    [finding] = found(as_user(url))
    assert finding.code == "BR009" and "--role" in finding.about.advice


def test_a_queue_that_does_not_exist_is_no_healthy_queue(own_server: Callable) -> None:
    url, _ = own_server()
    report = Doctor(url).examine(["mial"])
    assert (report.queues, report.findings) == ([], [])
    assert report.skipped == ["the queue mial: it has no keys; are its name and the prefix right?"]


def test_a_prefix_that_no_queue_has_is_reported(own_server: Callable) -> None:
    url, _ = own_server()
    Queue("mail", url=url).add("send")
    report = Doctor(url, prefix="bul").examine()
    assert (report.queues, report.findings) == ([], [])
    assert report.skipped == ["no queue has the prefix bul: is it right? --prefix gives another one"]


def test_a_server_that_lets_nobody_look_is_an_error_and_not_healthy(own_server: Callable) -> None:
    url, redis = own_server()
    for wrong, code in ((url.replace("/0", "/99"), "ERR"), (url, "NOAUTH"), (url.replace("//", "//:no@"), "WRONGPASS")):
        if code == "NOAUTH":
            redis.config_set("requirepass", "hidden")
        with pytest.raises(RedisServerError) as raised:
            Doctor(wrong).examine()
        assert raised.value.code == code


def test_queues_whose_names_cannot_be_used_are_reported(own_server: Callable) -> None:
    url, redis = own_server()
    for name in (b"\xff\xfe", b"a\nb", "b\u00fccher".encode()):
        redis.hset(b"bull:" + name + b":meta", "version", "bullmq:5.62.0")
    report = Doctor(url).examine()
    assert report.queues == ["b\u00fccher"]
    assert report.skipped == [r"2 queues: the name cannot be used here, as in the key 'bull:a\nb:meta'"]


def test_many_queues_are_looked_at_side_by_side(own_server: Callable) -> None:
    url, redis = own_server()
    names = [f"q{number:03}" for number in range(60)]
    for name in names:
        redis.hset(f"bull:{name}:meta", "version", "bullmq:5.62.0")
        redis.set(f"bull:{name}:limiter", 9)
    report = Doctor(url).examine(deep=True)
    assert report.queues == names
    assert [finding.queue for finding in report.findings if finding.code == "BR106"] == names
