"""Measures what the first page of the dashboard costs Redis: ``python -m benches.micro.overview``.

With ``--docs`` it writes docs/dashboard.md, too. The processor time of the server counts, with all that it does to read
and to write replies. Nobody else uses it.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from typing import Any, Final

import httpx
from redis import Redis

from benches.harness.peer import ROOT
from benches.harness.report import aligned, piped
from bullrush.dashboard import app
from bullrush.embedded import EmbeddedRedis

_PAGE: Final = ROOT / "docs" / "dashboard.md"
_BEGIN, _END = "<!-- measured: overview -->", "<!-- /measured -->"
_QUEUES: Final = 500
#: In one queue so many jobs wait.
_JOBS: Final = 1_000_000
_REFRESHES: Final = 50
#: So many of the queues have jobs to run, in the second measurement.
_WORKING: Final = 50


def _fill(redis: Redis) -> None:
    pipeline = redis.pipeline(transaction=False)
    for number in range(_QUEUES):
        pipeline.hset(f"bull:queue-{number}:meta", "opts.maxLenEvents", 10_000)
        pipeline.zadd(f"bull:queue-{number}:completed", {str(job): job for job in range(10)})
        pipeline.xadd(f"bull:queue-{number}:events", {"event": "drained"})
    pipeline.execute()
    _wait(redis, 0, _JOBS)


def _wait(redis: Redis, queue: int, jobs: int) -> None:
    """Let jobs wait in a queue; of these only the next one has a hash, since no other is read."""
    now = int(time.time() * 1_000)
    fields: dict[Any, Any] = {"name": "n", "data": "{}", "opts": "{}", "timestamp": now, "delay": 0, "priority": 0}
    redis.hset(f"bull:queue-{queue}:1", mapping=fields)
    for begin in range(1, jobs + 1, 10_000):
        redis.lpush(f"bull:queue-{queue}:wait", *range(begin, min(begin + 10_000, jobs + 1)))


async def _refresh(client: httpx.AsyncClient, redis: Redis) -> tuple[float, float, float]:
    """Return microseconds of Redis per queue and refresh: in all, and of its commands; and the p95 of a page in ms."""
    (await client.get("/")).raise_for_status()  # what is looked at once a minute is there
    redis.config_resetstat()
    before, times = _processor_seconds(redis), []
    for _ in range(_REFRESHES):
        began = time.perf_counter()
        (await client.get("/")).raise_for_status()
        times.append((time.perf_counter() - began) * 1_000)
    spent = _processor_seconds(redis) - before
    reads = {name: stats["usec"] for name, stats in redis.info("commandstats").items() if name != "cmdstat_info"}
    looks = _REFRESHES * _QUEUES
    return spent / looks * 1e6, sum(reads.values()) / looks, statistics.quantiles(times, n=20)[-1]


def _processor_seconds(redis: Redis) -> float:
    found = redis.info("cpu")
    return float(found["used_cpu_sys"]) + float(found["used_cpu_user"])


async def _measure(url: str, redis: Redis) -> list[tuple[str, tuple[float, float, float]]]:
    pages = app(url, authenticate=lambda _: "somebody", authorize=lambda *_: True)
    transport = httpx.ASGITransport(pages)
    async with httpx.AsyncClient(transport=transport, base_url="http://here", timeout=60) as client:
        idle = await _refresh(client, redis)
        for queue in range(_WORKING):
            _wait(redis, queue, 10)
        return [
            (f"{_JOBS:,} jobs wait in one", idle),
            (f"jobs wait in {_WORKING} of them", await _refresh(client, redis)),
        ]


def main() -> None:
    """Print the costs; with ``--docs`` put them into the page."""
    with EmbeddedRedis(port=0, password="") as server, Redis.from_url(server.url) as redis:
        version = redis.info("server")["redis_version"]
        _fill(redis)
        measured = asyncio.run(_measure(server.url, redis))
    rows = [[f"{_QUEUES} queues", "Redis per queue and refresh", "its commands alone", "95 % of the pages within"]]
    rows += [[what, f"{all_:.1f} µs", f"{reads:.1f} µs", f"{page:.0f} ms"] for what, (all_, reads, page) in measured]
    print(*aligned(rows), sep="\n")
    if "--docs" in sys.argv[1:]:
        head, _, rest = _PAGE.read_text().partition(_BEGIN)
        shown = [head + _BEGIN, *piped(rows), "", f"Redis {version}.", _END + rest.partition(_END)[2]]
        _PAGE.write_text("\n".join(shown))


if __name__ == "__main__":
    main()
