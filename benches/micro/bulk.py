"""Measures changes of many jobs by the dashboard: ``python -m benches.micro.bulk``.

With ``--docs`` it writes docs/dashboard.md, too. Redis has a processor of its own. The longest call is that of SLOWLOG.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import Any, Final, NamedTuple

import httpx
from redis import Redis

from benches.harness.machine import apart
from benches.harness.peer import ROOT
from benches.harness.report import aligned, piped
from bullrush.dashboard import app
from bullrush.embedded import EmbeddedRedis

_PAGE: Final = ROOT / "docs" / "dashboard.md"
_BEGIN, _END = "<!-- measured: bulk -->", "<!-- /measured -->"
_JOBS: Final = 100_000
_PART: Final = 5_000
#: What is changed: how, and from which state.
_CHANGES: Final = (("retry", "failed"), ("remove", "waiting"), ("promote", "delayed"), ("remove", "completed"))
_SET_OR_LIST: Final = {"waiting": "wait"}


class _Measured(NamedTuple):
    """Seconds of the preview and of the change, of the processor of Redis in both, and ms of the longest call."""

    preview: float
    change: float
    redis: float
    longest: float


def _fill(redis: Redis, state: str) -> None:
    redis.flushdb()
    redis.hset("bull:many:meta", "opts.maxLenEvents", 10_000)
    now, key = int(time.time() * 1_000), f"bull:many:{_SET_OR_LIST.get(state, state)}"
    fields: dict[Any, Any] = {"name": "n", "data": '{"user":7}', "opts": "{}", "timestamp": now, "delay": 0}
    if state in ("failed", "completed"):
        fields |= {"finishedOn": now, "processedOn": now, "atm": 1, "ats": 1}
    for begin in range(1, _JOBS + 1, _PART):
        ids = range(begin, begin + _PART)
        pipeline = redis.pipeline(transaction=False)
        for number in ids:
            pipeline.hset(f"bull:many:{number}", mapping=fields)
        if state == "waiting":
            pipeline.lpush(key, *ids)
        else:
            pipeline.zadd(key, {str(number): now for number in ids})
        pipeline.execute()


async def _measure(client: httpx.AsyncClient, redis: Redis, verb: str, state: str) -> _Measured:
    _fill(redis, state)
    redis.slowlog_reset()
    path, before, began = f"/q/many/bulk/{verb}", _processor_seconds(redis), time.perf_counter()
    preview = (await client.post(path, data={"state": state})).raise_for_status().json()["preview"]
    seen = time.perf_counter()
    (await client.post(f"{path}/confirm", data={"preview": preview})).raise_for_status()
    while True:
        done = (await client.get(f"/q/many/bulk/{preview}")).raise_for_status().json()
        if done["ended"] is not None:
            break
        await asyncio.sleep(0.05)
    assert done["done"] == _JOBS, done
    spent = _processor_seconds(redis) - before
    longest = max((entry["duration"] for entry in redis.slowlog_get(128)), default=0)
    return _Measured(seen - began, (done["ended"] - done["begun"]) / 1_000, spent, longest / 1_000)


def _processor_seconds(redis: Redis) -> float:
    found = redis.info("cpu")
    return float(found["used_cpu_sys"]) + float(found["used_cpu_user"])


async def _measure_all(url: str, redis: Redis) -> list[tuple[str, _Measured]]:
    transport = httpx.ASGITransport(app(url, authenticate=lambda _: "somebody", authorize=lambda *_: True))
    own = {"Sec-Fetch-Site": "same-origin", "Accept": "application/json"}
    async with httpx.AsyncClient(transport=transport, base_url="http://here", timeout=300, headers=own) as client:
        return [(f"{verb} {state}", await _measure(client, redis, verb, state)) for verb, state in _CHANGES]


def main() -> None:
    """Print the times; with ``--docs`` put them into the page."""
    before = os.getloadavg()[0]
    with EmbeddedRedis(port=0, password="") as server, Redis.from_url(server.url) as redis:
        version = redis.info("server")["redis_version"]
        redis.config_set("slowlog-log-slower-than", 1_000)
        with apart(redis):
            measured = asyncio.run(_measure_all(server.url, redis))
    rows = [[f"{_JOBS:,} jobs", "preview", "change", "processor time of Redis", "longest call"]]
    rows += [
        [what, f"{one.preview:.1f} s", f"{one.change:.1f} s", f"{one.redis:.1f} s", f"{one.longest:.1f} ms"]
        for what, one in measured
    ]
    print(*aligned(rows), sep="\n")
    said = f"Redis {version}, load average before: {before:.1f}; measured by `python -m benches.micro.bulk --docs`."
    print(said)
    if "--docs" in sys.argv[1:]:
        head, _, rest = _PAGE.read_text().partition(_BEGIN)
        _PAGE.write_text("\n".join([head + _BEGIN, *piped(rows), "", said, _END + rest.partition(_END)[2]]))


if __name__ == "__main__":
    main()
