"""One failover under load, and what it has lost."""

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from docs.build.rights import PAGE
from tests.servers.sentinel import SentinelServers
from tests.waiting import wait_until

PRODUCER = Path(__file__).with_name("producer.py")
PASSWORD = "of-sentinel"
#: Rights of a user of the Sentinels who hears only of the end of a failover.
BEFORE = "resetchannels &+switch-master +ping +subscribe +sentinel|get-master-addr-by-name"


@dataclass(frozen=True)
class Loss:
    """What became of the adds of one producer."""

    acknowledged: int
    lost: int
    #: The longest time without an acknowledged add, in seconds.
    pause: float

    @property
    def is_little(self) -> bool:
        """Whether at most one in 5,000 is lost."""
        return self.lost * 5000 <= self.acknowledged


def allow_users(servers: SentinelServers) -> None:
    """Give each Sentinel the two users."""
    (rule,) = re.findall(r"^ACL SETUSER sentinel-client (.*)$", PAGE.read_text(), re.MULTILINE)
    rules = {"waits": rule.replace("PASSWORD", PASSWORD), "stays": f"reset on >{PASSWORD} {BEFORE}"}
    for sentinel in servers.sentinels:
        with servers.ask(sentinel) as redis:
            for user, rights in rules.items():
                redis.execute_command("ACL", "SETUSER", user, *rights.split())


class Producer:
    """A producer in a process of its own."""

    def __init__(self, servers: SentinelServers, user: str, rate: float, folder: Path) -> None:
        self.queue, self._file = user, folder / user
        self._file.touch()
        url = f"{servers.url}?sentinel_username={user}&sentinel_password={PASSWORD}"
        command = [sys.executable, str(PRODUCER), url, user, str(rate), str(self._file)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE)

    def acknowledged(self) -> dict[str, float]:
        """Return the numbers of the jobs whose add has returned so far, each with the time of the answer."""
        assert self._process.poll() is None or not self._process.returncode, "the producer has failed"
        whole, _, _ = self._file.read_text().rpartition("\n")
        return {number: float(at) for number, at in map(str.split, whole.splitlines())}

    def wait_for(self, more: int) -> None:
        """Wait until so many more adds are acknowledged."""
        enough = len(self.acknowledged()) + more
        wait_until(lambda: len(self.acknowledged()) >= enough, f"{more} more adds are acknowledged", 120, pause=0.1)

    def end(self) -> None:
        """Let it end, and wait for it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(90) == 0

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def producing(servers: SentinelServers, rate: float, folder: Path) -> Iterator[tuple[Producer, Producer]]:
    """Run both producers."""
    with ExitStack() as running:
        both = []
        for user in ("waits", "stays"):
            both.append(Producer(servers, user, rate, folder))
            running.callback(both[-1].kill)
        yield both[0], both[1]


def fail_over(servers: SentinelServers, rate: float, folder: Path, seconds: float = 2) -> dict[str, Loss]:
    """Let a replica take over while both producers add jobs; return what became of the adds of each.

    Args:
        servers: the servers and Sentinels.
        rate: jobs per second and producer.
        folder: an empty folder.
        seconds: how long they add before the failover and after it.
    """
    before = servers.master()
    some = max(int(rate * seconds), 1)
    with producing(servers, rate, folder) as both:
        for producer in both:
            producer.wait_for(some)
        servers.begin_failover()
        after = servers.wait_for_other_master(before)
        for producer in both:
            producer.wait_for(some)
            producer.end()
        with servers.connect(after) as redis:
            found = {producer.queue: loss(producer, redis) for producer in both}
            redis.flushall()
    servers.wait_until_ready()
    return found


def loss(producer: Producer, redis: Redis) -> Loss:
    """Compare what a producer got as acknowledged with what the new master has."""
    acknowledged = producer.acknowledged()
    pipe = redis.pipeline(transaction=False)
    for number in acknowledged:
        pipe.exists(f"bull:{producer.queue}:job-{number}")
    times = sorted(acknowledged.values())
    pause = max(after - before for before, after in itertools.pairwise(times))
    return Loss(len(acknowledged), pipe.execute().count(0), round(pause, 1))
