"""An embedded server is its user's alone: others cannot read it, join it, or lead a program elsewhere."""

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from redis import Redis

from bullrush import Queue, embedded
from bullrush.embedded import EmbeddedRedis
from bullrush.embedded.directory import join
from bullrush.embedded.probe import ping

from .server_processes import socket_of


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def open_to_all() -> Iterator[None]:
    """Let new files be for everybody, unless they are made otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): oct(path.lstat().st_mode & 0o777) for path in folder.rglob("*")}


@pytest.mark.parametrize("options", [{}, {"port": 0}], ids=["socket", "port"])
def test_what_a_server_writes_is_for_its_user_alone(
    directory: Path, open_to_all: None, options: dict[str, int]
) -> None:
    with EmbeddedRedis(directory, **options) as server, Redis.from_url(server.url) as redis:
        redis.set("secret", "payload")
        joined = join(directory, None)
        assert joined
        scratch = Path(server._scratch)
        for folder in (directory, scratch):
            assert folder.stat().st_mode & 0o777 == 0o700
            assert {mode for name, mode in modes(folder).items() if name != "redis.sock"} <= {"0o600", "0o700"}
        assert "0o600" in modes(directory).values() and ".users" in modes(directory)
        joined.stop()


@pytest.mark.parametrize(
    ("mode", "files", "then"),
    [
        (0o755, [], 0o700),
        (0o777, [], 0o700),
        (0o755, [".lock"], 0o700),
        (0o755, ["notes.txt"], 0o755),
    ],
)
def test_a_directory_that_is_there_is_closed_to_others_if_it_is_for_the_server(
    directory: Path, mode: int, files: list[str], then: int
) -> None:
    directory.mkdir()
    for name in files:
        (directory / name).touch()
    directory.chmod(mode)
    with EmbeddedRedis(directory):
        assert directory.stat().st_mode & 0o777 == then


def planted(directory: Path) -> None:
    directory.mkdir(mode=0o700)
    (directory / ".lock").write_text("1 redis://127.0.0.1:1/0\n")


@pytest.mark.parametrize("opening", ["start", "join"])
def test_a_directory_to_which_others_can_write_is_refused(directory: Path, opening: str) -> None:
    planted(directory)
    directory.chmod(0o770)
    with pytest.raises(RuntimeError, match=f"may have written to {directory}: .*chmod 700"):
        EmbeddedRedis(directory) if opening == "start" else embedded.resolve(f"embedded://{directory}")
    assert (directory / ".lock").read_text() == "1 redis://127.0.0.1:1/0\n"


@pytest.mark.parametrize("opening", ["start", "join"])
def test_a_directory_of_another_user_is_refused(directory: Path, opening: str) -> None:
    if os.geteuid() == 0:
        planted(directory)
        os.chown(directory, 4711, -1)
    else:
        directory = Path("/etc")
    with pytest.raises(RuntimeError, match=f"{directory} is not of the user {os.geteuid()}"):
        EmbeddedRedis(directory) if opening == "start" else embedded.resolve(f"embedded://{directory}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another user")
@pytest.mark.parametrize("name", [".lock", ".users", ".password"])
def test_a_file_of_another_user_is_not_believed(directory: Path, name: str) -> None:
    planted(directory)
    (directory / name).touch()
    os.chown(directory / name, 4711, -1)
    url = f"embedded://{directory}?port=0"
    if name == ".users":
        with EmbeddedRedis(directory, port=0), pytest.raises(RuntimeError, match=r"\.users is not a file of"):
            join(directory, 0)
    else:
        with pytest.raises(RuntimeError, match=rf"{name} is not a file of the user 0"):
            embedded.resolve(url)


@pytest.mark.parametrize("name", [".lock", ".password"])
def test_a_link_in_the_place_of_a_file_is_not_followed(directory: Path, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    directory.mkdir(mode=0o700)
    (directory / name).symlink_to(victim)
    with pytest.raises(RuntimeError, match=rf"{name} is a symbolic link"):
        embedded.resolve(f"embedded://{directory}?port=0")
    assert victim.read_text() == "precious"


def test_a_named_pipe_in_the_place_of_a_file_holds_nobody_up(directory: Path) -> None:
    directory.mkdir(mode=0o700)
    os.mkfifo(directory / ".lock")
    with pytest.raises(RuntimeError, match="is not a file of"):
        embedded.resolve(f"embedded://{directory}")


def test_a_server_on_a_port_wants_the_password_of_its_url() -> None:
    with EmbeddedRedis(port=0) as server, Redis.from_url(server.url) as redis:
        parts = urlsplit(server.url)
        assert parts.password and len(parts.password) >= 32
        assert redis.ping()
        assert ping(f"redis://127.0.0.1:{parts.port}").startswith(b"-NOAUTH")
        words = [word for process in (server.pid, server._supervisor.pid) for word in psutil.Process(process).cmdline()]
        assert parts.password not in " ".join([*words, repr(server)])
        with Queue("q", url=server.url) as queue:
            queue.add("n")
            assert parts.password not in repr(queue)


def test_a_password_may_have_any_character() -> None:
    with EmbeddedRedis(port=0, password='a "b\\ü@/:%') as server, Redis.from_url(server.url) as redis:
        assert redis.ping()
        with Queue("q", url=server.url) as queue:
            assert queue.count() == 0


def test_a_directory_keeps_its_password_so_that_programs_find_its_next_server(directory: Path) -> None:
    with EmbeddedRedis(directory, port=0) as first:
        joined = join(directory, 0)
        assert joined and joined.url == first.url
        joined.stop()
        with pytest.raises(RuntimeError, match="is in use") as refused:
            join(directory, 1)
    password = urlsplit(first.url).password
    assert password and password == (directory / ".password").read_text().strip() and password not in str(refused.value)
    with EmbeddedRedis(directory, port=0) as second:
        assert urlsplit(second.url).password == password


def test_a_password_without_a_port_is_refused() -> None:
    with pytest.raises(ValueError, match="password needs a port"):
        EmbeddedRedis(password="x")


def test_where_the_path_of_a_socket_would_be_too_long_it_has_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 90)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with EmbeddedRedis() as server:
        assert len(os.fsencode(socket_of(server.url))) <= 100
        assert stat.S_IMODE(socket_of(server.url).parent.stat().st_mode) == 0o700
        assert server.alive


def test_a_tilde_is_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    url = embedded.resolve("embedded://~/queue")
    assert embedded.resolve(f"embedded://{tmp_path}/queue") == url
    assert (tmp_path / "queue/.lock").exists() and not (tmp_path / "~").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a program as another user")
def test_another_user_reads_nothing_and_reaches_nothing(directory: Path) -> None:
    directory.parent.chmod(0o755)
    with EmbeddedRedis(directory, port=0) as server, Redis.from_url(server.url) as redis:
        redis.set("secret", "payload")
        looked = subprocess.run(
            ["find", directory, "-type", "f", "-exec", "cat", "{}", ";"], user=65534, capture_output=True, text=True
        )
        assert "Permission denied" in looked.stderr and looked.stdout == ""
