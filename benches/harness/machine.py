"""The machine on which the figures were measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from benches.harness.server import BenchServer


@dataclass(frozen=True)
class Machine:
    """A machine and its server."""

    cpu: str
    cores: int
    system: str
    python: str
    server: str
    load: float

    def __str__(self) -> str:
        return (
            f"{self.cpu}, {self.cores} cores, {self.system}, Python {self.python}\n"
            f"{self.server}; load average before the run: {self.load:.1f}"
        )


def describe(server: BenchServer) -> Machine:
    """Return this machine."""
    return Machine(
        cpu=_cpu_model(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        server=f"Redis {server.version}, private, {server.setup}, TCP on this machine",
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
    )


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown CPU"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


@contextmanager
def apart(redis: Redis) -> Iterator[None]:
    """Give the thread of the server that runs calls a processor of its own: a call that waits for one would seem long.

    Its other threads, one of which gives memory back to the system, share the other processors with this process. Only
    Linux with two processors or more does it.
    """
    processors = sorted(getattr(os, "sched_getaffinity", lambda _: ())(0))
    if len(processors) < 2:
        yield
        return
    server = int(redis.info("server")["process_id"])
    for process in (server, os.getpid()):
        _place(process, processors[1:])
    os.sched_setaffinity(server, processors[:1])
    try:
        yield
    finally:
        for process in (server, os.getpid()):
            _place(process, processors)


def stolen_ms(redis: Redis) -> int:
    """Return for how many ms the host has taken the server's processor for other machines; see `apart`.

    A call that ran meanwhile seems long. 0 where the system does not say it.
    """
    own = min(getattr(os, "sched_getaffinity", lambda _: {0})(int(redis.info("server")["process_id"])))
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return 0
    (fields,) = (line.split() for line in lines if line.startswith(f"cpu{own} "))
    return int(fields[8]) * 1_000 // os.sysconf("SC_CLK_TCK")


def _place(process: int, processors: list[int]) -> None:
    """Let all threads of a process run on these processors."""
    for thread in Path(f"/proc/{process}/task").iterdir():
        os.sched_setaffinity(int(thread.name), processors)
