"""Measures changes of many jobs by the dashboard: ``python -m benches.micro.bulk``.

With ``--docs`` it writes docs/dashboard.md, too. Redis has a processor of its own. The longest call is that of SLOWLOG.
A call seems longer than it is where the host takes that processor for other machines meanwhile. So the figures are
those of the round with the shortest longest call, and the calls of all rounds that took too long are counted.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import Any, Final, NamedTuple

import httpx
from redis import Redis

from benches.harness.machine import apart, stolen_ms
from benches.harness.peer import ROOT
from benches.harness.report import aligned, piped
from bullrush.dashboard import app
from bullrush.embedded import EmbeddedRedis

_PAGE: Final = ROOT / "docs" / "dashboard.md"
_BEGIN, _END = "<!-- measured: bulk -->", "<!-- /measured -->"
_JOBS: Final = 100_000
_PART: Final = 5_000
#: No call may take longer, in ms.
_LONG: Final = 5
#: A call that is long by itself is so in each of them. One that the host has held up is not.
_ROUNDS: Final = 3
#: What is changed: how, and from which state.
_CHANGES: Final = (("retry", "failed"), ("remove", "waiting"), ("promote", "delayed"), ("remove", "completed"))
_SET_OR_LIST: Final = {"waiting": "wait"}


class _Measured(NamedTuple):
    """What a change took.

    Attributes:
        preview: seconds until its preview was there.
        change: seconds of the change itself.
        redis: seconds of the processor of Redis, in both.
        longest: the longest call, in ms.
        over: how many calls took longer than they may.
        stolen: for how many ms the host took the processor of Redis for other machines.
    """

    preview: float
    change: float
    redis: float
    longest: float
    over: int
    stolen: int


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
    stolen = stolen_ms(redis)
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
    slow = [entry["duration"] / 1_000 for entry in redis.slowlog_get(100_000)]
    change = (done["ended"] - done["begun"]) / 1_000
    over = sum(one > _LONG for one in slow)
    return _Measured(seen - began, change, spent, max(slow, default=0.0), over, stolen_ms(redis) - stolen)


def _processor_seconds(redis: Redis) -> float:
    found = redis.info("cpu")
    return float(found["used_cpu_sys"]) + float(found["used_cpu_user"])


async def _measure_all(url: str, redis: Redis) -> list[tuple[str, list[_Measured]]]:
    """Return what each change took, in each round."""
    transport = httpx.ASGITransport(app(url, authenticate=lambda _: "somebody", authorize=lambda *_: True))
    own = {"Sec-Fetch-Site": "same-origin", "Accept": "application/json"}
    async with httpx.AsyncClient(transport=transport, base_url="http://here", timeout=300, headers=own) as client:
        return [
            (f"{verb} {state}", [await _measure(client, redis, verb, state) for _ in range(_ROUNDS)])
            for verb, state in _CHANGES
        ]


def main() -> None:
    """Print the times; with ``--docs`` put them into the page."""
    before = os.getloadavg()[0]
    with EmbeddedRedis(port=0, password="") as server, Redis.from_url(server.url) as redis:
        version = redis.info("server")["redis_version"]
        redis.config_set("slowlog-log-slower-than", 1_000)
        redis.config_set("slowlog-max-len", 100_000)
        with apart(redis):
            measured = asyncio.run(_measure_all(server.url, redis))
    times = ["preview", "change", "processor time of Redis", "longest call"]
    rows = [[f"{_JOBS:,} jobs", *times, f"calls over {_LONG} ms in {_ROUNDS} rounds", "taken by the host"]]
    for what, rounds in measured:
        quiet = min(rounds, key=lambda one: one.longest)
        seconds = [f"{spent:.1f} s" for spent in (quiet.preview, quiet.change, quiet.redis)]
        over, stolen = sum(one.over for one in rounds), sum(one.stolen for one in rounds)
        rows.append([what, *seconds, f"{quiet.longest:.1f} ms", f"{over} of {_ROUNDS * _JOBS:,}", f"{stolen} ms"])
    print(*aligned(rows), sep="\n")
    said = f"Redis {version}, load average before: {before:.1f}; measured by `python -m benches.micro.bulk --docs`."
    print(said)
    if "--docs" in sys.argv[1:]:
        head, _, rest = _PAGE.read_text().partition(_BEGIN)
        _PAGE.write_text("\n".join([head + _BEGIN, *piped(rows), "", said, _END + rest.partition(_END)[2]]))


if __name__ == "__main__":
    main()
