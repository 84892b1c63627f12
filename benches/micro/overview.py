"""Measures what the dashboard's first page and the page of a queue cost Redis: ``python -m benches.micro.overview``.

With ``--docs`` it writes docs/dashboard.md, too. The processor time of the server counts, with all that it does to read
and to write replies. Nobody else uses it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import statistics
import sys
import time
from typing import Any, Final, NamedTuple

import httpx
from redis import Redis

from benches.harness.peer import ROOT
from benches.harness.report import aligned, piped
from bullrush.dashboard import app
from bullrush.dashboard.shared import POLL_EVERY
from bullrush.embedded import EmbeddedRedis

_PAGE: Final = ROOT / "docs" / "dashboard.md"
_END: Final = "<!-- /measured -->"
_QUEUES: Final = 500
#: In one queue so many jobs wait.
_JOBS: Final = 1_000_000
_REFRESHES: Final = 50
#: The page of one queue costs less: it is read oftener.
_LOOKS: Final = 200
#: So many of the queues have jobs to run, in the second measurement.
_WORKING: Final = 50
#: In the small queue so many jobs wait.
_FEW: Final = 10
#: So many jobs have failed in a third one, and so many jobs stand on its page.
_FAILED: Final = 1_000
_SHOWN: Final = 50
#: So many tabs show one queue, and ask so many times.
_TABS: Final = 20
_ROUNDS: Final = 5
#: By how much the commands of all tabs may differ from those of one.
_TOLERATED: Final = 0.05
_POLL: Final = {"HX-Request": "true", "Accept": "text/html"}
#: These are no reads of a page: what is asked here, and what goes with each write of a connection.
_NO_READS: Final = frozenset({"cmdstat_info", "cmdstat_config", "cmdstat_config|resetstat", "cmdstat_echo"})


class Cost(NamedTuple):
    """What a refresh of a page costs Redis.

    Attributes:
        spent: us of its processor time.
        reads: us of the commands alone.
        commands: how many there are.
        page: within how many ms 95 of 100 pages come.
    """

    spent: float
    reads: float
    commands: float
    page: float


def _fill(redis: Redis) -> None:
    pipeline = redis.pipeline(transaction=False)
    for number in range(_QUEUES):
        pipeline.hset(f"bull:queue-{number}:meta", "opts.maxLenEvents", 10_000)
        pipeline.zadd(f"bull:queue-{number}:completed", {str(job): job for job in range(10)})
        pipeline.xadd(f"bull:queue-{number}:events", {"event": "drained"})
    pipeline.execute()
    _wait(redis, 0, _JOBS)


def _wait(redis: Redis, queue: int, jobs: int) -> None:
    """Let jobs wait in a queue; of these only the next one has a hash, since no other is read for the first page."""
    redis.hset(f"bull:queue-{queue}:1", mapping=_job())
    for begin in range(1, jobs + 1, 10_000):
        redis.lpush(f"bull:queue-{queue}:wait", *range(begin, min(begin + 10_000, jobs + 1)))


def _fail(redis: Redis, queue: int) -> None:
    """Let jobs of a queue have failed, with one of three errors."""
    failed = {f"failed-{job}": int(time.time() * 1_000) for job in range(_FAILED)}
    pipeline = redis.pipeline(transaction=False)
    for number, (job, now) in enumerate(failed.items()):
        error = f"error {number % 3}"
        trace = json.dumps([f"ValueError: {error}\\n    at work (work.js:{number % 3}:1)"])
        further: dict[Any, Any] = {"failedReason": error, "stacktrace": trace, "finishedOn": now, "atm": 1}
        pipeline.hset(f"bull:queue-{queue}:{job}", mapping=_job() | further)
    pipeline.zadd(f"bull:queue-{queue}:failed", failed)
    pipeline.execute()


def _job() -> dict[Any, Any]:
    """Return the fields of a job that stays young: of one that nobody takes for a minute a page asks more."""
    added = int(time.time() * 1_000) + 3_600_000
    return {"name": "n", "data": "{}", "opts": "{}", "timestamp": added, "delay": 0, "priority": 0}


async def _refresh(client: httpx.AsyncClient, redis: Redis, path: str, refreshes: int, headers: Any = None) -> Cost:
    """Read a page again and again."""
    (await client.get(path)).raise_for_status()  # what is looked at once a minute is there
    redis.config_resetstat()
    before, times = _processor_seconds(redis), []
    for number in range(refreshes):
        began = time.perf_counter()
        # Each has an address of its own: the answer to one poll is that to all that come soon.
        (await client.get(path, params={"look": number}, headers=headers)).raise_for_status()
        times.append((time.perf_counter() - began) * 1_000)
    spent = _processor_seconds(redis) - before
    reads = _reads(redis)
    usec, calls = (sum(stats[name] for stats in reads.values()) / refreshes for name in ("usec", "calls"))
    return Cost(spent / refreshes * 1e6, usec, calls, statistics.quantiles(times, n=20)[-1])


def _reads(redis: Redis) -> dict[str, Any]:
    found: dict[str, Any] = redis.info("commandstats")
    return {name: stats for name, stats in found.items() if name not in _NO_READS}


async def _polled(client: httpx.AsyncClient, redis: Redis, path: str, tabs: int) -> float:
    """Return how many commands a round costs in which so many tabs ask for the part that changes."""
    commands: list[int] = []
    for _ in range(_ROUNDS + 1):
        await asyncio.sleep(POLL_EVERY)
        redis.config_resetstat()
        for got in await asyncio.gather(*(client.get(path, headers=_POLL) for _ in range(tabs))):
            got.raise_for_status()
        commands.append(sum(stats["calls"] for stats in _reads(redis).values()))
    return statistics.median(commands[1:])  # once a minute the doctor looks, too


def _processor_seconds(redis: Redis) -> float:
    found = redis.info("cpu")
    return float(found["used_cpu_sys"]) + float(found["used_cpu_user"])


async def _measure(url: str, redis: Redis) -> dict[str, list[list[str]]]:
    """Return the rows of the tables, by their names."""
    pages = app(url, authenticate=lambda _: "somebody", authorize=lambda *_: True)
    transport = httpx.ASGITransport(pages)
    async with httpx.AsyncClient(transport=transport, base_url="http://here", timeout=60) as client:
        idle = await _refresh(client, redis, "/", _REFRESHES)
        for queue in range(1, _WORKING):
            _wait(redis, queue, _FEW)
        busy = await _refresh(client, redis, "/", _REFRESHES)
        _fail(redis, 2)
        one = [
            await _of_queue(client, redis, queue, what)
            for queue, what in (
                (0, f"{_JOBS:,} jobs wait"),
                (1, f"{_FEW} jobs wait"),
                (2, f"{_FEW} jobs wait, {_FAILED:,} failed lately"),
            )
        ]
    first = ((f"{_JOBS:,} jobs wait in one", idle), (f"jobs wait in {_WORKING} of them", busy))
    return {
        "overview": [
            [f"{_QUEUES} queues", "Redis per queue and refresh", "its commands alone", "95 % of the pages within"],
            *(
                [what, _us(cost.spent / _QUEUES), _us(cost.reads / _QUEUES), f"{cost.page:.0f} ms"]
                for what, cost in first
            ),
        ],
        "queue": [
            ["one queue", "Redis per refresh", "its commands alone", "commands", f"of {_TABS} tabs"],
            *one,
        ],
    }


async def _of_queue(client: httpx.AsyncClient, redis: Redis, queue: int, what: str) -> list[str]:
    name, path = f"queue-{queue}", f"/q/queue-{queue}"
    worker = f"bull:{base64.b64encode(name.encode()).decode()}"
    with Redis(port=redis.get_connection_kwargs()["port"], client_name=worker) as connected:
        connected.ping()
        for job in range(1, _SHOWN + 1):  # those that wait first
            redis.hset(f"bull:{name}:{job}", mapping=_job())
        cost = await _refresh(client, redis, path, _LOOKS, _POLL)
        alone, together = [await _polled(client, redis, path, tabs) for tabs in (1, _TABS)]
    assert abs(together - alone) <= _TOLERATED * alone, f"{_TABS} tabs send {together} commands, one sends {alone}"
    return [what, _us(cost.spent), _us(cost.reads), f"{cost.commands:.1f}", f"{together:.1f}"]


def _us(value: float) -> str:
    return f"{value:,.1f} µs" if value < 10 else f"{value:,.0f} µs"


def main() -> None:
    """Print the costs; with ``--docs`` put them into the page."""
    with EmbeddedRedis(port=0, password="") as server, Redis.from_url(server.url) as redis:
        version = redis.info("server")["redis_version"]
        _fill(redis)
        tables = asyncio.run(_measure(server.url, redis))
    for name, rows in tables.items():
        print(*aligned(rows), "", sep="\n")
        if "--docs" in sys.argv[1:]:
            begin = f"<!-- measured: {name} -->"
            head, _, rest = _PAGE.read_text().partition(begin)
            shown = [head + begin, *piped(rows), "", f"Redis {version}.", _END + rest.partition(_END)[2]]
            _PAGE.write_text("\n".join(shown))


if __name__ == "__main__":
    main()
