"""``bullrush acl``: the rights of a Redis user."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from redis import Redis

from bullrush import Queue
from bullrush.rights import read_roles


def test_the_roles_are_listed(run: Callable) -> None:
    ended = run("acl")
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == list(read_roles())


def test_the_rule_is_one_that_the_server_takes(run: Callable, redis: Redis, redis_url: str, queue_name: str) -> None:
    ended = run("acl", "producer", "reader", "--user", queue_name, "--queue", queue_name)
    assert ended.code == 0
    words = ended.out.strip().replace("PASSWORD", "secret").split()
    assert words[:2] == ["ACL", "SETUSER"]
    redis.execute_command(*words)
    with Queue(queue_name, url=redis_url.replace("redis://", f"redis://{queue_name}:secret@")) as queue:
        assert queue.add("n").id
    redis.execute_command("ACL", "DELUSER", queue_name)


def test_a_reader_of_one_queue_learns_that_it_must_name_it(
    run: Callable, redis: Redis, redis_url: str, queue: Queue
) -> None:
    queue.add("n")
    ended = run("acl", "reader", "--user", queue.name, "--queue", queue.name)
    redis.execute_command(*ended.out.strip().replace("PASSWORD", "secret").split())
    url = redis_url.replace("redis://", f"redis://{queue.name}:secret@")
    refused = run("info", "--url", url)
    assert refused.code == 3 and "may not look for queues" in refused.err and "bullrush info mail" in refused.err
    assert run("info", queue.name, "--url", url).code == 0
    redis.execute_command("ACL", "DELUSER", queue.name)


def test_several_roles_have_the_rights_of_all(run: Callable) -> None:
    printed = json.loads(run("acl", "reader", "producer", "--json").out)
    roles = read_roles()
    assert set(printed["needed"]) == {*roles["reader"].needed, *roles["producer"].needed}
    assert all(f"+{command}" in printed["rule"].split() for command in (*printed["needed"], *printed["useful"]))


@pytest.mark.parametrize("name", ["--user", "--prefix", "--queue"])
def test_a_name_that_would_break_the_rule_is_refused(run: Callable, name: str) -> None:
    for given in ("a b", ""):
        ended = run("acl", "worker", name, given)
        assert (ended.code, ended.out) == (2, "") and name in ended.err


def test_a_wrong_role_is_refused_with_the_nearest(run: Callable) -> None:
    ended = run("acl", "reeder")
    assert ended.code == 2 and "reader" in ended.err


def test_a_program_in_node_gets_what_bullmq_sends_beside(run: Callable) -> None:
    roles = read_roles()
    for name, more in {"producer": set(), "worker": {"rpoplpush", "zpopmin"}}.items():
        printed = json.loads(run("acl", name, "--node", "--json").out)
        assert set(printed["needed"]) - set(roles[name].needed) == {"eval", "hmset", "multi", "exec"} | more
    ended = run("acl", "reader", "--node")
    assert ended.code == 2 and "--node is for the roles producer and worker" in ended.err
