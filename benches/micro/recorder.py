"""Measures what a recorder costs Redis: ``python -m benches.micro.recorder``, with ``--docs`` for docs/history.md, too.

The processor time of the server counts, with all that it does to read and to write replies. Nobody else uses it.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from redis import Redis

from benches.harness.peer import ROOT
from benches.harness.report import aligned, piped
from bullrush.embedded import EmbeddedRedis
from bullrush.recorder import History, Recorder

_PAGE: Final = ROOT / "docs" / "history.md"
_BEGIN, _END = "<!-- measured: recorder -->", "<!-- /measured -->"
#: Of each job: added, waiting, active, completed.
_EVENTS_OF_A_JOB: Final = 4
_JOBS: Final = 100_000
_QUEUES: Final = 500
_IDLE_SECONDS: Final = 20
#: A job of 120 bytes, as in the other benchmarks, that returns as much.
_RETURNED: Final = "x" * 120


def _processor_seconds(redis: Redis) -> float:
    found = redis.info("cpu")
    return float(found["used_cpu_sys"]) + float(found["used_cpu_user"])


def _fill(redis: Redis, queue: str, jobs: int) -> None:
    """Write the events of jobs as BullMQ does."""
    for begin in range(0, jobs, 1_000):
        pipeline = redis.pipeline(transaction=False)
        for job in range(begin, min(begin + 1_000, jobs)):
            told: list[dict[Any, Any]] = [
                {"event": "added", "jobId": job, "name": "welcome"},
                {"event": "waiting", "jobId": job},
                {"event": "active", "jobId": job, "prev": "waiting"},
                {"event": "completed", "jobId": job, "returnvalue": _RETURNED, "prev": "active"},
            ]
            for fields in told:
                pipeline.xadd(f"bull:{queue}:events", fields)
        pipeline.execute()


def _cost_of_an_event(folder: Path) -> tuple[float, float]:
    """Return microseconds of Redis per event, for a stream that is full of them: in all, and for its commands alone.

    What an idle server takes is not in them.
    """
    with EmbeddedRedis(port=0, password="") as server, Redis.from_url(server.url) as redis:
        began = _now()
        _fill(redis, "mail", _JOBS)
        # A history that can take all of them: reading is measured, not sampling.
        with Recorder(folder / "busy.db", server.url, queues=["mail"], events_per_second=1_000_000_000) as recorder:
            alone = _spent_while_idle(redis) / _IDLE_SECONDS
            before, began_to_read = _processor_seconds(redis), time.monotonic()
            running = threading.Thread(target=recorder.run)
            running.start()
            with History(folder / "busy.db") as history:
                # It is in the file when its counts are.
                while sum(one.completed for one in history.minutes("mail", began, _now())) < _JOBS:
                    time.sleep(0.05)
            spent = _processor_seconds(redis) - before - alone * (time.monotonic() - began_to_read)
            recorder.stop()
            running.join()
        stats = redis.info("commandstats")
        commands = sum(stats[f"cmdstat_{name}"]["usec"] for name in ("xread", "xrange"))
    events = _JOBS * _EVENTS_OF_A_JOB
    return spent / events * 1e6, commands / events


def _now() -> int:
    return int(time.time() * 1_000)


def _cost_of_idle_queues(folder: Path) -> float:
    """Return the share of a core of Redis that idle queues take, above what an idle server takes by itself."""
    names = [f"queue-{number}" for number in range(_QUEUES)]
    with EmbeddedRedis(port=0, password="") as server, Redis.from_url(server.url) as redis:
        for name in names:
            _fill(redis, name, 10)
        alone = _spent_while_idle(redis)
        with Recorder(folder / "idle.db", server.url, queues=names) as recorder:
            running = threading.Thread(target=recorder.run)
            running.start()
            with History(folder / "idle.db") as history:
                while not all(history.find(name, outcome="completed") for name in names):
                    time.sleep(0.2)
            spent = _spent_while_idle(redis)
            recorder.stop()
            running.join()
    return (spent - alone) / _IDLE_SECONDS


def _spent_while_idle(redis: Redis) -> float:
    before = _processor_seconds(redis)
    time.sleep(_IDLE_SECONDS)
    return _processor_seconds(redis) - before


def main() -> None:
    """Print the costs; with ``--docs`` put them into the page."""
    with TemporaryDirectory() as folder, EmbeddedRedis(port=0, password="") as server:
        with Redis.from_url(server.url) as redis:
            version = redis.info("server")["redis_version"]
        (event, commands), idle = _cost_of_an_event(Path(folder)), _cost_of_idle_queues(Path(folder))
    rows = [
        ["a recorder costs Redis", "processor time"],
        ["an event that comes, with its way to the socket", f"{event:.2f} µs"],
        ["an event that comes, the commands alone", f"{commands:.2f} µs"],
        [f"{_QUEUES} idle queues", f"{idle:.1%} of a core"],
    ]
    print(*aligned(rows), sep="\n")
    if "--docs" in sys.argv[1:]:
        head, _, rest = _PAGE.read_text().partition(_BEGIN)
        shown = [head + _BEGIN, *piped(rows), "", f"Redis {version}.", _END + rest.partition(_END)[2]]
        _PAGE.write_text("\n".join(shown))


if __name__ == "__main__":
    main()
