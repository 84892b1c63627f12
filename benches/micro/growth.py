"""Measures what a job costs Redis when many others wait: ``python -m benches.micro.growth``.

The machine changes its speed within minutes, so rounds of a minute cannot show a tenth. Here two servers live on, with
few and with a million jobs, and bursts of 2,000 jobs go to them by turns, of bullrush and of BullMQ for Node. The data
of the servers are on small pages. With ``--docs`` it writes docs/benchmarks.md, too.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from benches.harness.peer import NODE_MODULES, ROOT
from benches.harness.report import aligned, piped
from benches.harness.server import BenchServer, Setup
from bullrush import Queue, aio

_PAGE: Final = ROOT / "docs" / "benchmarks.md"
_RESULT: Final = ROOT / "docs" / "reliability" / "growth.json"
_BEGIN, _END = "<!-- measured: growth -->", "<!-- /measured -->"
_WAITING: Final = (1_000, 1_000_000)
_BURST: Final = 2_000
_PAIRS: Final = 100
_SEED: Final = 1
_JOBS: Final[list[Any]] = [{"name": "n", "data": {"text": "x" * 80}}] * 10_000


class _Ours:
    """A queue of bullrush."""

    name = "bullrush"

    def __init__(self, server: BenchServer, stack: ExitStack) -> None:
        self._url = server.url
        self._queue = stack.enter_context(Queue("ours", url=server.url))

    def add(self, count: int) -> None:
        for begin in range(0, count, len(_JOBS)):
            self._queue.add_bulk(_JOBS[: count - begin])

    def work(self, count: int) -> int:
        async def handler(job: object) -> None:
            return None

        async def run() -> int:
            worker = aio.Worker("ours", handler, url=self._url, concurrency=100, remove_on_complete=1_000)
            return (await worker.run(max_jobs=count)).completed

        return asyncio.run(run())


class _Theirs:
    """A queue of BullMQ for Node."""

    name = "BullMQ for Node"

    def __init__(self, server: BenchServer, stack: ExitStack) -> None:
        command = ["node", str(Path(__file__).with_suffix(".js")), server.url, "theirs"]
        self._process = stack.enter_context(
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "NODE_PATH": str(NODE_MODULES)},
            )
        )
        stack.callback(self._process.kill)

    def add(self, count: int) -> None:
        self._ask(f"add {count}")

    def work(self, count: int) -> int:
        return int(self._ask(f"work {count}"))

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


def _spent(server: BenchServer) -> float:
    """Return the microseconds of the processor that the thread of the server that runs commands has had."""
    return int(Path(f"/proc/{server.pid}/task/{server.pid}/schedstat").read_text().split()[0]) / 1_000


def _burst(server: BenchServer, side: _Ours | _Theirs) -> float:
    """Return what a job costs the server, in microseconds; as many wait afterwards as before."""
    side.add(_BURST)
    before = _spent(server)
    done = side.work(_BURST)
    return (_spent(server) - before) / done


def _measure() -> dict[str, list[tuple[float, float]]]:
    """Return the microseconds for a job with few and with many waiting, in pairs, of each side."""
    with ExitStack() as stack:
        servers = [stack.enter_context(BenchServer(Setup(huge_pages=False))) for _ in _WAITING]
        sides = {side.name: [side(server, stack) for server in servers] for side in (_Ours, _Theirs)}
        for each in sides.values():
            for server, side, waiting in zip(servers, each, _WAITING, strict=True):
                side.add(waiting)
                _burst(server, side)
        pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
        for number in range(_PAIRS):
            for name, each in sides.items():
                order = (0, 1) if number % 2 else (1, 0)
                found = {place: _burst(servers[place], each[place]) for place in order}
                pairs[name].append((found[0], found[1]))
    return pairs


def _row(name: str, pairs: list[tuple[float, float]]) -> list[str]:
    few, many = zip(*pairs, strict=True)
    more = _bounds([b - a for a, b in pairs])
    times = _bounds([b / a for a, b in pairs])
    return [
        name,
        f"{statistics.median(few):.1f}",
        f"{statistics.median(many):.1f}",
        "{:.1f} ({:.1f} - {:.1f})".format(*more),
        "{:.2f} ({:.2f} - {:.2f})".format(*times),
    ]


def _bounds(values: list[float]) -> tuple[float, float, float]:
    """Return the median, and the range in which it is with 95 %."""
    random.seed(_SEED)
    medians = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(2_000))
    return statistics.median(values), medians[50], medians[-51]


def main() -> None:
    """Print what was measured; with ``--docs`` put it into the page."""
    before, began = os.getloadavg()[0], time.monotonic()
    pairs = _measure()
    few, many = (f"{waiting:,} wait" for waiting in _WAITING)
    rows = [["server us/job", few, many, "more (95 %)", "ratio (95 %)"], *(_row(*one) for one in pairs.items())]
    print(*aligned(rows), sep="\n")
    said = (
        f"{_PAIRS} pairs of bursts of {_BURST:,} jobs in {time.monotonic() - began:.0f} s, load average before: "
        f"{before:.1f}; measured by `python -m benches.micro.growth --docs`, all values in "
        f"[growth.json](reliability/growth.json)."
    )
    print(said)
    if "--docs" in sys.argv[1:]:
        _RESULT.write_text(json.dumps({"load": before, "server us of a job": pairs}, indent=1) + "\n")
        head, _, rest = _PAGE.read_text().partition(_BEGIN)
        _PAGE.write_text("\n".join([head + _BEGIN, *piped(rows), "", said, _END + rest.partition(_END)[2]]))


if __name__ == "__main__":
    main()
