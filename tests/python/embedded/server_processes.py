"""Processes that own or join an embedded server; the tests end them in every way."""

import os
import subprocess
import sys
from pathlib import Path


def runs(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")
        return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")
    except (ProcessLookupError, FileNotFoundError):
        return False


def owner(code: str = "sys.stdin.read()", make: str = "EmbeddedRedis()") -> "subprocess.Popen[str]":
    """Start a process that starts a server, prints its pid, its supervisor's and its URL, and then runs ``code``."""
    return _python(f"""
import os, signal, sys, threading
from bullrush.embedded import EmbeddedRedis
server = {make}
print(server.pid, server._supervisor.pid, server.url, flush=True)
{code}
""")


def user(directory: Path) -> "subprocess.Popen[str]":
    """Start a process that opens ``embedded://directory``, prints the URL it got and runs until its stdin ends."""
    return _python(f"""
import sys
from bullrush import embedded
print(embedded.resolve("embedded://{directory}"), flush=True)
sys.stdin.read()
""")


def started(process: "subprocess.Popen[str]") -> tuple[int, int, str]:
    """Return the pids of the server and its supervisor, and the URL."""
    assert process.stdout
    server, supervisor, url = process.stdout.readline().split()
    return int(server), int(supervisor), url


def socket_of(url: str) -> Path:
    return Path(url.removeprefix("unix://"))


def finish(process: "subprocess.Popen[str]") -> None:
    """Let a process end by itself, or wait for one that was killed."""
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    process.stdout.close()
    process.wait()


def _python(program: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
