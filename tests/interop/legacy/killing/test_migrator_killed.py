"""A migrator is killed after any of its commands while a producer of Bull goes on: no job is lost, doubled or changed.

``make kills`` kills it after every command; `make test` after a sample.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from random import Random
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from redis import Redis

from bullrush.embedded import EmbeddedRedis
from bullrush.legacy.signpost import SIGNPOST
from tests.interop.sides.node_process import NodeProcess

from . import judge, seeds
from .gate import Gate
from .migrator import Migrators

WAYS = ("one server", "two servers")
#: So many commands that write a migration has at least.
COMMANDS = {"one server": 58, "two servers": 400}
BULLS = ("bull1", "bull2", "bull30", "bull3", "bull4")
#: How many kills of each kind; "all" is one after every command.
KILLS = os.environ.get("KILLS", "2")
RATE = 50


class Server(NamedTuple):
    """A server with what looks at it."""

    port: int
    redis: "Redis[bytes]"
    node: NodeProcess


@pytest.fixture(scope="session")
def servers(redis_url: str) -> Iterator[dict[str, Server]]:
    """The server of the queues of Bull, and another one."""
    with ExitStack() as running:
        other = running.enter_context(EmbeddedRedis(port=0, password=""))
        found = {}
        for name, url in zip(WAYS, (redis_url, other.url), strict=True):
            node = NodeProcess("bullmq5", url)
            running.callback(node.kill)
            port = urlsplit(url).port
            assert port
            found[name] = Server(port, running.enter_context(Redis.from_url(url)), node)
        yield found


@pytest.fixture(scope="session")
def migrators() -> Iterator[Migrators]:
    started = Migrators()
    yield started
    started.close()


class Case:
    """A queue of Bull with a producer that never stops, and a new target for each migration."""

    def __init__(
        self, bull: NodeProcess, queue: str, source: Server, target: Server, migrators: Migrators, gate: Gate
    ) -> None:
        self.bull, self.queue, self.source, self.target = bull, queue, source, target
        self._migrators, self._gate = migrators, gate
        self._seeds = seeds.make(bull, source.redis, f"{queue}-made")
        self._stem = f"bull:{queue}:"
        self.way = WAYS[source is not target]
        self._runs = 0
        #: The producer's jobs that are in no target yet.
        self._waiting: set[str] = set()
        self._known = 0
        source.redis.set(f"{self._stem}id", seeds.FIRST_FREE)
        bull.call("produce", queue=queue, rate=RATE)

    def kill_after(self, commands: int, give_back: Iterable[int] = ()) -> bool:
        """Kill a migration after so many commands, go on with another one, and check all.

        Return whether it ended before.

        Args:
            commands: after how many commands that write it is killed.
            give_back: before it goes on, its claims are given back, by calls that are killed after so many commands,
                and at last by one that is not.
        """
        self._runs += 1
        prefix = f"bullmq{self._runs}"
        stem = f"{prefix}:{self.queue}:"
        self._seeds.put(self.source.redis, self._stem)
        self.source.redis.delete(f"{self._stem}{SIGNPOST}")  # else it moves only to where the last run has led
        paused = self._runs % 2 == 0
        if paused:
            self.bull.call("pause", queue=self.queue)
        killed = self._migrate(prefix, self._gate.open(commands))
        assert killed in {-9, 0}, "the migrator failed"
        self._check_once(stem)
        self._let_locks_run_out()
        if killed and give_back:
            self._give_back(prefix, stem, give_back)
        if killed:
            assert self._migrate(prefix, self._gate.open()) == 0
        legacy, target = self._check_once(stem)
        judge.check_moved(self._seeds, legacy, target, self.target.redis, stem)
        if paused:
            assert not target.lists["wait"]
            self.bull.call("resume", queue=self.queue)
        self._waiting -= set(target.count())
        ran = self.target.node.call("finishAll", at={"db": 0, "prefix": prefix, "queue": self.queue})
        unfinished = {
            id for name in ("wait", "paused", "delayed") for id in target.lists[name] if not id.startswith("repeat:")
        }
        assert {id: count for id, count in ran["runs"].items() if id in unfinished} == dict.fromkeys(unfinished, 1)
        assert ran["added"] not in target.count(), "the next id was in use"
        return not killed

    def _give_back(self, prefix: str, stem: str, kills: Iterable[int]) -> None:
        for most in (*kills, None):
            code = self._call("give_back", prefix, {}, self._gate.open(most))
            assert code in {-9, 0}, "the call failed"
            legacy, _ = self._check_once(stem)
        assert code == 0 and not legacy.claimed

    def _migrate(self, prefix: str, until: "Future[None]") -> int:
        return self._call("migrate", prefix, {"history": 100, "legacy_workers_stopped": True}, until)

    def _call(self, name: str, prefix: str, options: Mapping[str, Any], until: "Future[None]") -> int:
        source, target = (self._gate.ports * 2)[:2]
        order = {
            "queue": self.queue,
            "legacy": {"url": f"redis://127.0.0.1:{source}/0"},
            "target": {"url": f"redis://127.0.0.1:{target}/0", "prefix": prefix},
            "options": options,
            "name": name,
        }
        code = self._migrators.run(order, until)
        self._gate.wait_until_executed()
        return code

    def _check_once(self, stem: str) -> tuple[judge.Places, judge.Places]:
        produced = self.bull.call("produced", queue=self.queue)
        self._waiting |= set(produced[self._known :])
        self._known = len(produced)
        legacy, target = judge.read(self.source.redis, self._stem), judge.read(self.target.redis, stem)
        seeds = {id for id in self._seeds.ids if not id.startswith("repeat:")}
        judge.check_each_job_is_once(seeds | self._waiting, legacy, target)
        return legacy, target

    def _let_locks_run_out(self) -> None:
        """Let the time pass that a claim of the killed migrator lasts."""
        for id in self.source.redis.hkeys(f"{self._stem}ext:claim"):
            self.source.redis.delete(f"{self._stem}{id.decode()}:lock")


@pytest.fixture
def case(
    request: pytest.FixtureRequest, servers: dict[str, Server], migrators: Migrators, queue_name: str, redis_url: str
) -> Iterator[Case]:
    library, way = request.param
    with ExitStack() as running:
        bull = NodeProcess(library, redis_url, program="bull.js")
        running.callback(bull.kill)
        source, target = servers[WAYS[0]], servers[way]
        gate = Gate([source.port] if source is target else [source.port, target.port])
        running.callback(gate.close)
        yield Case(bull, queue_name, source, target, migrators, gate)


def commands_of(name: str, way: str) -> Iterable[int]:
    """Return after which commands to kill: all of them, or some all over the run, others for each name."""
    if KILLS == "all":
        return range(10_000)
    return Random(name).sample(range(1, COMMANDS[way]), int(KILLS))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "case",
    [pytest.param((bull, way), id=f"{bull}-{way.replace(' ', '_')}") for bull in BULLS for way in WAYS],
    indirect=True,
)
def test_a_migrator_that_is_killed_after_any_command_loses_doubles_and_changes_no_job(
    case: Case, request: pytest.FixtureRequest
) -> None:
    for commands in commands_of(request.node.name, case.way):
        try:
            ended = case.kill_after(commands)
        except AssertionError as error:
            raise AssertionError(f"killed after command {commands}: {error}") from error
        if ended and KILLS == "all":
            assert commands > 60
            break


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", [pytest.param((bull, WAYS[1]), id=bull) for bull in ("bull1", "bull4")], indirect=True)
def test_jobs_that_a_killed_migrator_has_claimed_go_back_once_also_if_that_is_killed(
    case: Case, request: pytest.FixtureRequest
) -> None:
    for commands in commands_of(request.node.name, case.way):
        try:
            if case.kill_after(commands, (commands % 60, 60 + commands % 100, 130 + commands % 140)):
                break
        except AssertionError as error:
            raise AssertionError(f"killed after command {commands}: {error}") from error
