"""Measures a search among a million jobs that wait: ``python -m benches.micro.search``.

With ``--docs`` it writes docs/dashboard.md, too. The share of a core is the processor time of the server, with all that
it does to read and to write. The pick-up is that of a worker of another queue of this server, to which a process of its
own adds 200 jobs per second: without a search and with one, in turn.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Final, NamedTuple

import httpx
from redis import Redis

from benches.harness.machine import apart
from benches.harness.peer import ROOT
from benches.harness.report import aligned, piped
from bullrush import Job, Queue, Worker
from bullrush.dashboard import app
from bullrush.embedded import EmbeddedRedis
from bullrush.inspection import SearchPosition

_PAGE: Final = ROOT / "docs" / "dashboard.md"
_BEGIN, _END = "<!-- measured: search -->", "<!-- /measured -->"
_JOBS: Final = 1_000_000
_NEEDLES: Final = 100
_FILTER: Final = "data.user.name:needle"
#: So many jobs are added in a call.
_PART: Final = 10_000
_LOADS: Final = 10
_PAIRS: Final = 5
_SECONDS: Final = 6.0
_PER_SECOND: Final = 200
#: Jobs with 250 bytes of data; ARGV: the first, the last, then the needles among them.
_FILL: Final = """
local needle = {}
for n = 3, #ARGV do needle[ARGV[n]] = true end
for id = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local name = needle[tostring(id)] and 'needle' or 'hay' .. id
  redis.call('HSET', 'bull:many:' .. id, 'name', 'mail', 'opts', '{"attempts":3}', 'timestamp', ARGV[1], 'delay', '0',
    'priority', '0',
    'data', '{"user":{"id":' .. id .. ',"name":"' .. name .. '"},"text":"' .. string.rep('x', 200) .. '"}')
  redis.call('LPUSH', 'bull:many:wait', id)
end
"""


class _Searched(NamedTuple):
    """What a whole search found, in how many s, with which share of a core, and how long its calls took in ms."""

    found: int
    seconds: float
    share: float
    longest: float
    over: int
    calls: int


def _fill(redis: Redis) -> None:
    needles = Random(29).sample(range(_JOBS), _NEEDLES)
    for first in range(0, _JOBS, _PART):
        last = first + _PART - 1
        redis.eval(_FILL, 0, first, last, *(needle for needle in needles if first <= needle <= last))
    redis.hset("bull:many:meta", "opts.maxLenEvents", 10_000)


async def _loads(url: str) -> list[float]:
    """Return how many ms a page with the newest jobs takes."""
    pages, times = app(url, authenticate=lambda _: "somebody", authorize=lambda *_: True), []
    transport = httpx.ASGITransport(pages)
    async with httpx.AsyncClient(transport=transport, base_url="http://here", timeout=60) as client:
        for number in range(_LOADS):
            query = {"state": "waiting", "where": f"{_FILTER} id:*{number}", "only": "newest"}
            began = time.perf_counter()
            (await client.get("/q/many", params=query)).raise_for_status()
            times.append((time.perf_counter() - began) * 1_000)
    return times


def _search(queue: Queue, until: threading.Event | None = None) -> list[str]:
    """Search all jobs, or until an event; from the start again at the end, if there is one."""
    ids: list[str] = []
    after: SearchPosition | None = None
    while until is None or not until.is_set():
        found = queue.search(_FILTER, "waiting", after=after)
        ids += found.job_ids
        after = found.after
        if after is None and until is None:
            break
    return ids


def _whole(redis: Redis, queue: Queue) -> _Searched:
    redis.config_set("slowlog-log-slower-than", 100)
    redis.config_set("slowlog-max-len", 100_000)
    first = queue.search(_FILTER, "waiting")  # the newest ones are looked at without rests
    redis.slowlog_reset()
    redis.config_resetstat()
    before, began = _processor_seconds(redis), time.perf_counter()
    ids, after = list(first.job_ids), first.after
    while after is not None:
        found = queue.search(_FILTER, "waiting", after=after)
        ids += found.job_ids
        after = found.after
    seconds = time.perf_counter() - began
    share = (_processor_seconds(redis) - before) / seconds
    slow = [entry["duration"] / 1_000 for entry in redis.slowlog_get(100_000) if b"SLOWLOG" not in entry["command"]]
    calls = sum(int(found["calls"]) for found in redis.info("commandstats").values())
    redis.config_set("slowlog-log-slower-than", -1)
    over = sum(one > 1 for one in slow)
    return _Searched(len(set(ids)), seconds, share, max(slow, default=0.0), over, calls)


def _processor_seconds(redis: Redis) -> float:
    found = redis.info("cpu")
    return float(found["used_cpu_sys"]) + float(found["used_cpu_user"])


@contextmanager
def _searching(url: str) -> Iterator[None]:
    end = threading.Event()
    with Queue("many", url=url, skip_metas_update=True) as queue:
        running = threading.Thread(target=_search, args=(queue, end))
        running.start()
        try:
            yield
        finally:
            end.set()
            running.join()


def _pick_up(url: str) -> float:
    """Let another process add and run jobs, and return the p99 of its pick-up in ms."""
    asked = [sys.executable, "-m", "benches.micro.search", "--pick-up", url]
    return float(subprocess.run(asked, check=True, capture_output=True, text=True, cwd=ROOT).stdout)


def _measure_pick_up(url: str) -> None:
    """Print the p99 of the pick-up of an idle worker in ms."""
    late: list[float] = []
    with Queue("busy", url=url) as queue, Worker("busy", _noting(late), url=url, autorun=True):
        began = time.monotonic()
        for number in range(int(_SECONDS * _PER_SECOND)):
            time.sleep(max(0.0, began + number / _PER_SECOND - time.monotonic()))
            queue.add("x", {"at": time.monotonic()}, remove_on_complete=True)
    print(statistics.quantiles(late[_PER_SECOND // 2 :], n=100)[-1])


def _noting(late: list[float]) -> Callable[[Job], None]:
    """Return a handler that notes how many ms after its add a job starts."""
    return lambda job: late.append((time.monotonic() - job.data["at"]) * 1_000)


def _rows(url: str, redis: Redis) -> list[list[str]]:
    loads = asyncio.run(_loads(url))
    with apart(redis), Queue("many", url=url, skip_metas_update=True) as queue:
        whole = _whole(redis, queue)
    pairs = []
    for _ in range(_PAIRS):
        without = _pick_up(url)
        with _searching(url):
            pairs.append((without, _pick_up(url)))
    ratio = statistics.median(with_ / without for without, with_ in pairs)
    without, with_ = (statistics.median(column) for column in zip(*pairs, strict=True))
    return [
        [f"{_NEEDLES} needles among {_JOBS:,} jobs", ""],
        ["the page with the newest 10,000: median, slowest", f"{statistics.median(loads):.0f} ms, {max(loads):.0f} ms"],
        ["all others: needles found, time", f"{whole.found}, {whole.seconds:.0f} s"],
        ["of one core of Redis meanwhile", f"{whole.share:.1%}"],
        ["the longest call", f"{whole.longest:.2f} ms"],
        ["calls that took more than 1 ms", f"{whole.over} of {whole.calls:,}"],
        ["p99 of a pick-up without a search, with one", f"{without:.2f} ms, {with_:.2f} ms"],
        ["the median ratio of five pairs", f"{ratio:.2f}"],
    ]


def main() -> None:
    """Print what a search takes; with ``--docs`` put it into the page."""
    load = os.getloadavg()[0]
    with EmbeddedRedis(port=0, password="") as server, Redis.from_url(server.url) as redis:
        version = redis.info("server")["redis_version"]
        _fill(redis)
        rows = _rows(server.url, redis)
    print(*aligned(rows), sep="\n")
    if "--docs" in sys.argv[1:]:
        head, _, rest = _PAGE.read_text().partition(_BEGIN)
        said = f"Redis {version}, 2 cores, load average before: {load:.1f}."
        _PAGE.write_text("\n".join([head + _BEGIN, *piped(rows), "", said, _END + rest.partition(_END)[2]]))


if __name__ == "__main__":
    if "--pick-up" in sys.argv[1:]:
        _measure_pick_up(sys.argv[-1])
    else:
        main()
