"""The private server of a run, and its CPU time and commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import redis
from typing_extensions import Self

from bullrush.embedded import EmbeddedRedis
from bullrush.scripts import read_scripts

#: How often a command ran, and the microseconds it took. Commands that scripts call count for themselves, and in
#: ``evalsha``.
CommandStats = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Load:
    """The server's counters at one time."""

    cpu_us: float
    commands: CommandStats

    def until(self, later: Load) -> Load:
        """Return the difference to a later time."""
        commands: CommandStats = {}
        for name, (calls, microseconds) in later.commands.items():
            calls_before, microseconds_before = self.commands.get(name, (0, 0))
            if calls > calls_before:
                commands[name] = (calls - calls_before, microseconds - microseconds_before)
        return Load(later.cpu_us - self.cpu_us, commands)


#: How many of the newest slow calls the server remembers.
_SLOW_CALLS = 1_000
_ALL_CALLS = 1_000_000


@dataclass(frozen=True)
class Setup:
    """How a server is set up.

    Attributes:
        aof: it persists to an append-only file, fsync every second.
        huge_pages: its data may lie on huge pages; with `aof` they do not.
    """

    aof: bool = False
    huge_pages: bool = True

    def __str__(self) -> str:
        pages = "" if self.aof else ", data on huge pages" if self.huge_pages else ", data on small pages"
        return ("append-only file, fsync every second" if self.aof else "no persistence") + pages


IN_MEMORY = Setup()


class BenchServer:
    """A real Redis for one run, on a TCP port as in production: all peers reach it the same way."""

    def __init__(self, setup: Setup) -> None:
        huge_pages = setup.huge_pages and not setup.aof
        self._embedded = EmbeddedRedis(port=0, password="", persistence=setup.aof, huge_pages=huge_pages)
        self.url = self._embedded.url
        self.pid = self._embedded.pid
        self.setup = setup
        # redis-py types every reply as possibly awaitable.
        self._client: Any = redis.Redis.from_url(self.url, socket_timeout=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()
        self._embedded.stop()

    @property
    def version(self) -> str:
        """The server's INFO."""
        return str(self._info("server")["redis_version"])

    def load(self) -> Load:
        """Return the counters of the server: CPU time of the thread that runs commands, and commands."""
        cpu = self._info("cpu")
        main = "_main_thread" if "used_cpu_user_main_thread" in cpu else ""
        seconds = float(cpu[f"used_cpu_user{main}"]) + float(cpu[f"used_cpu_sys{main}"])
        stats = self._info("commandstats")
        return Load(
            seconds * 1e6,
            {name.removeprefix("cmdstat_"): (int(of["calls"]), int(of["usec"])) for name, of in stats.items()},
        )

    def used_memory(self) -> int:
        """Return the size of the data in bytes."""
        return int(self._info("memory")["used_memory"])

    def longest_call_ms(self) -> float:
        """Return how long the longest script call since `forget_slow_calls` took, in ms; the shortest seen is 0.5."""
        slow = self._client.slowlog_get(_SLOW_CALLS)
        return max((call["duration"] / 1000 for call in slow if b"EVAL" in call["command"].upper()), default=0.5)

    def forget_slow_calls(self) -> None:
        """Reset the search for the longest call."""
        self.command("SLOWLOG", "RESET")

    def watch_scripts(self) -> None:
        """Note each call of a script from now on, until `empty`."""
        self.command("CONFIG", "SET", "slowlog-log-slower-than", 0)
        self.command("CONFIG", "SET", "slowlog-max-len", _ALL_CALLS)
        self.forget_slow_calls()

    def script_times(self) -> dict[str, list[float]]:
        """Return how long each call since `watch_scripts` kept the server, in ms, by the name of its script."""
        names = {script.sha.encode(): name for name, script in read_scripts().items()}
        found: dict[str, list[float]] = {}
        for call in self._client.slowlog_get(_ALL_CALLS):
            words: list[bytes] = call["command"].split(b" ", 2)
            if words[0].upper() == b"EVALSHA" and words[1] in names:
                found.setdefault(names[words[1]], []).append(call["duration"] / 1000)
        return found

    def empty(self) -> None:
        """Remove all keys; this is not measured."""
        self.command("FLUSHALL", "SYNC")
        self.command("CONFIG", "SET", "slowlog-log-slower-than", 500)
        self.command("CONFIG", "SET", "slowlog-max-len", _SLOW_CALLS)
        self.forget_slow_calls()

    def command(self, *words: object) -> Any:
        """Send a command and return the answer."""
        return self._client.execute_command(*words)

    def count(self, pattern: str) -> int:
        """Return how many keys match a pattern."""
        return sum(1 for _ in self._client.scan_iter(match=pattern, count=10_000))

    def hashes(self, keys: Iterable[str]) -> list[dict[str, str]]:
        """Read hashes in one round trip."""
        pipeline = self._client.pipeline(transaction=False)
        for key in keys:
            pipeline.hgetall(key)
        return [
            {str(name, "utf-8"): str(value, "utf-8") for name, value in found.items()} for found in pipeline.execute()
        ]

    def _info(self, section: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._client.info(section)
        return found
