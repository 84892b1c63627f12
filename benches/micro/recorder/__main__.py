"""Measures a recorder: ``python -m benches.micro.recorder``, with ``--docs`` for docs/history.md, too.

The release build has to be installed (``make test`` builds it), and nothing else may run on the machine.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from redis import Redis

from benches.harness.peer import ROOT
from benches.harness.report import aligned, piped
from benches.micro.recorder import costs, floods, node
from bullrush.embedded import EmbeddedRedis

_PAGE: Final = ROOT / "docs" / "history.md"
_BEGIN, _END = "<!-- measured: recorder -->", "<!-- /measured -->"


def main() -> None:
    """Print the figures; with ``--docs`` put them into the page."""
    load = os.getloadavg()[0]
    with TemporaryDirectory() as name:
        folder = Path(name)
        tables = [_costs(folder), _floods(folder), _node(folder)]
    for table in tables:
        print(*aligned(table), sep="\n")
    if "--docs" in sys.argv[1:]:
        head, _, rest = _PAGE.read_text().partition(_BEGIN)
        shown = [line for table in tables for line in (*piped(table), "")]
        _PAGE.write_text("\n".join([head + _BEGIN, *shown, *_how(load), _END + rest.partition(_END)[2]]))


def _costs(folder: Path) -> list[list[str]]:
    (event, commands), idle = costs.of_an_event(folder), costs.of_idle_queues(folder)
    return [
        ["a recorder costs Redis", "processor time"],
        ["an event that comes, with its way to the socket", f"{event:.2f} µs"],
        ["an event that comes, the commands alone", f"{commands:.2f} µs"],
        [f"{costs.QUEUES} idle queues", f"{idle:.1%} of a core"],
    ]


def _floods(folder: Path) -> list[list[str]]:
    most, usual = floods.most_without_loss(folder), floods.flood(folder, floods.USUAL, floods.LONG)
    flood = floods.flood(folder, floods.FLOOD, floods.SHORT)
    size = floods.bytes_of_attempts(folder)
    return [
        ["a recorder keeps", "of a queue"],
        [f"of {floods.USUAL:,} events a second for {floods.LONG} s", _shown(usual)],
        [f"of {floods.FLOOD:,} events a second for {floods.SHORT} s", _shown(flood)],
        ["all events, with a higher `events_per_second`, up to", f"{most:,} a second"],
        [f"{floods.ATTEMPTS:,} attempts in a file of", f"{size / (1 << 20):.1f} MB"],
    ]


def _shown(found: floods.Found) -> str:
    return f"{found.kept:.0%}, {found.gaps} gap{'' if found.gaps == 1 else 's'}"


def _node(folder: Path) -> list[list[str]]:
    rows = []
    for per_second, when in ((node.RATE, f"{node.RATE:,} a second"), (0, "as fast as Node can")):
        found = node.forgotten_jobs(folder, per_second)
        rows.append([when, f"{found.jobs:,}", f"{found.gaps}", f"{found.per_second:,.0f}"])
    return [
        [f"{node.JOBS:,} jobs of Node that keep nothing in Redis", "found whole", "gaps", "events a second"],
        *rows,
    ]


def _how(load: float) -> list[str]:
    """Return lines that say how it was measured, and how busy the machine was before."""
    with EmbeddedRedis(port=0, password="") as server, Redis.from_url(server.url) as redis:
        version = redis.info("server")["redis_version"]
    return [
        f"Release build, Redis {version} on this machine of {os.cpu_count()} cores, load average before: {load:.1f},",
        f"Python {platform.python_version()}; measured by `python -m benches.micro.recorder --docs`. A script writes",
        "the events, four of each job, into a stream of about 10,000 entries; the jobs of Node are those of BullMQ 5.",
    ]


if __name__ == "__main__":
    main()
