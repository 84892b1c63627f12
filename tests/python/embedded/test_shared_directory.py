"""Processes that open the same directory use one server, which stops with the last of them."""

import os
import signal
from pathlib import Path

import pytest
from redis import Redis

from bullrush import embedded
from bullrush.embedded import EmbeddedRedis
from bullrush.embedded.directory import JoinedServer, join
from tests.waiting import wait_until

from .server_processes import finish, owner, runs, started, user


def test_a_second_process_uses_the_server_of_the_first(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path) as server, Redis.from_url(server.url) as redis:
        other = user(tmp_path)
        assert other.stdout
        assert other.stdout.readline().strip() == server.url
        finish(other)
        assert redis.ping()
    assert not runs(server.pid)


def test_processes_that_start_together_share_one_server(tmp_path: Path) -> None:
    users = [user(tmp_path) for _ in range(4)]
    urls = {other.stdout.readline().strip() for other in users if other.stdout}
    assert len(urls) == 1
    assert next(iter(urls)).startswith("unix://")
    for other in users:
        finish(other)


@pytest.mark.faults
@pytest.mark.parametrize("end", [signal.SIGKILL, None], ids=["killed", "ended"])
def test_the_server_stops_with_its_last_user_not_with_its_owner(tmp_path: Path, end: signal.Signals | None) -> None:
    process = owner(make=f"EmbeddedRedis({str(tmp_path)!r})")
    pid, _, url = started(process)
    joined = join(tmp_path, None)
    assert joined
    assert joined.url == url
    if end:
        process.send_signal(end)
    finish(process)
    assert process.returncode in (0, -signal.SIGKILL)
    with Redis.from_url(url) as redis:
        redis.set("kept", "yes")
    assert joined.alive
    joined.stop()
    wait_until(lambda: not runs(pid))
    with EmbeddedRedis(tmp_path) as again, Redis.from_url(again.url, decode_responses=True) as redis:
        assert redis.get("kept") == "yes"


@pytest.mark.faults
def test_a_directory_whose_server_died_is_opened_again_with_its_data(tmp_path: Path) -> None:
    process = owner(make=f"EmbeddedRedis({str(tmp_path)!r})")
    _, watcher, _ = started(process)
    url = embedded.resolve(f"embedded://{tmp_path}")
    with Redis.from_url(url) as redis:
        redis.set("kept", "yes")
    os.kill(watcher, signal.SIGKILL)
    process.kill()
    finish(process)
    wait_until(lambda: not embedded._servers[str(tmp_path), None].alive)
    recovered = embedded.resolve(f"embedded://{tmp_path}")
    assert recovered != url
    with Redis.from_url(recovered, decode_responses=True) as redis:
        assert redis.get("kept") == "yes"


def test_a_forked_child_does_not_keep_a_joined_server_running(tmp_path: Path) -> None:
    process = owner(make=f"EmbeddedRedis({str(tmp_path)!r})")
    pid, _, _ = started(process)
    joined = join(tmp_path, None)
    assert isinstance(joined, JoinedServer)
    asking, answering = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(asking, 1)
        os._exit(0)
    try:
        joined.stop()
        process.kill()
        finish(process)
        wait_until(lambda: not runs(pid))
    finally:
        os.write(answering, b"x")
        os.waitpid(child, 0)
        os.close(asking)
        os.close(answering)


@pytest.mark.parametrize("option", ["?port=0", "?port=6399"])
def test_a_server_that_does_not_listen_on_the_wanted_port_is_named(tmp_path: Path, option: str) -> None:
    with EmbeddedRedis(tmp_path) as server:
        named = rf"is in use by the server at {server.url} \(pid {server.pid}\)"
        with pytest.raises(RuntimeError, match=named):
            embedded.resolve(f"embedded://{tmp_path}{option}")
