"""Adding over servers that are equally slow: whether two take twice as much as one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from benches.harness.measuring import Measurement
from benches.harness.peer import ROOT, PeerError
from benches.harness.server import BenchServer
from benches.harness.stage import Stage


@dataclass(frozen=True)
class AddOverServers:
    """A peer adds its jobs to as many servers as its options ask for, each behind a proxy.

    The machine has too few cores for a real server per core. A limit of calls per second in front of each server makes
    the servers the bottleneck, as they are where this is needed.

    Attributes:
        calls: how many calls each server takes per second.
    """

    calls: float

    def measure(self, stage: Stage) -> Measurement:
        """Let the contender add its jobs."""
        count = int(str(stage.contender.options["servers"]))
        (peer,) = stage.peers
        with ExitStack() as running:
            more = [running.enter_context(BenchServer(stage.server.setup)) for _ in range(count - 1)]
            servers = [stage.server, *more]
            urls = [running.enter_context(proxy(server.url, self.calls)) for server in servers]
            with stage.limited():
                stage.prepare(peer, {"urls": urls})
                meter = stage.meter()
                peer.go()
                peer.done()
                found = meter.read(stage.jobs)
            key = f"bull:{stage.queue}:wait"
            added = [server.command("LRANGE", key, 0, -1) for server in servers]
        if sum(map(len, added)) != stage.jobs or not all(added):
            raise PeerError(f"{stage.contender.name} added {list(map(len, added))} jobs instead of {stage.jobs}")
        return found


@contextmanager
def proxy(url: str, limit: float, kind: str = "proxy") -> Iterator[str]:
    """Run a proxy in front of a server during the block, and give its URL.

    Args:
        url: of the server.
        limit: calls per second; with ``delay`` ms per round trip.
        kind: the module of the proxy: ``proxy`` or ``delay``.
    """
    command = [sys.executable, "-m", f"benches.harness.{kind}", url, str(limit)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin
        assert running.stdout
        try:
            yield f"redis://127.0.0.1:{int(running.stdout.readline())}/0"
        finally:
            running.stdin.close()
            running.wait()
