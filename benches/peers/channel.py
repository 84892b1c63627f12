"""A Python peer's side of the protocol with the harness (see `benches.harness.peer`)."""

from __future__ import annotations

import asyncio
import importlib.metadata
import inspect
import itertools
import json
import platform
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

Order = Mapping[str, Any]


def introduce(identity: str) -> None:
    """Send name and versions."""
    _say(json.dumps({"identity": identity}))


def next_order() -> dict[str, Any] | None:
    """Wait for an order; None: there is no other."""
    line = sys.stdin.readline()
    order: dict[str, Any] | None = json.loads(line) if line else None
    return order


def ready() -> None:
    """Send ``ready``, and wait for the start."""
    _say("ready")
    _hear("go")


def wait_for_stop() -> None:
    """Wait for ``stop``."""
    _hear("stop")


def done(**facts: object) -> None:
    """Send ``done``."""
    _say(f"done {json.dumps(facts)}")


def handled() -> None:
    """Send ``handled``: the last job has run."""
    _say("handled")


def serve(package: str, tasks: Mapping[str, Callable[[Order], Any]]) -> None:
    """Send the versions of a package and run its tasks."""
    work(f"{package} {importlib.metadata.version(package)}", tasks)


def work(identity: str, tasks: Mapping[str, Callable[[Order], Any]]) -> None:
    """Send name and versions and run the tasks, plain or async, until there is no other order."""
    introduce(f"{identity}, Python {platform.python_version()}")
    while (order := next_order()) is not None:
        working = tasks[order["task"]](order)
        if inspect.iscoroutine(working):
            asyncio.run(working)


class Run:
    """Counts the runs of one order's handlers. They call it with a job's data and do nothing else."""

    def __init__(self, order: Order) -> None:
        self._jobs: int = order["jobs"]
        self._records = order.get("act") == "record"
        self._count = itertools.count(1)
        self.latencies: list[float] = []

    def __call__(self, data: Mapping[str, Any]) -> None:
        if self._records:
            self.latencies.append(time.monotonic_ns() / 1000 - data["sent"])
        if next(self._count) == self._jobs:
            handled()

    def done(self) -> None:
        """Send ``done``: the worker is closed."""
        done(handled=next(self._count) - 1, latencies=self.latencies)


def stamped() -> dict[str, float]:
    """Return the data of a job whose handler records its latency."""
    return {"sent": time.monotonic_ns() / 1000}


def pause_until_due(began: float, index: int, order: Order) -> float:
    """Return the seconds until a job of an open loop has to be added."""
    return max(0.0, began + index / float(order["rate"]) - time.monotonic())


def _say(line: str) -> None:
    print(line, flush=True)


def _hear(word: str) -> None:
    heard = sys.stdin.readline().strip()
    if heard != word:
        sys.exit(f"expected {word!r}, got {heard!r}")
