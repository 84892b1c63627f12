"""What a recorder costs Redis.

The processor time of the server counts, with all that it does to read and to write replies. Nobody else uses it.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, Final

from redis import Redis

from bullrush.embedded import EmbeddedRedis
from bullrush.recorder import History, Recorder

#: Of each job: added, waiting, active, completed.
_EVENTS_OF_A_JOB: Final = 4
_JOBS: Final = 100_000
QUEUES: Final = 500
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


def of_an_event(folder: Path) -> tuple[float, float]:
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


def of_idle_queues(folder: Path) -> float:
    """Return the share of a core of Redis that idle queues take, above what an idle server takes by itself."""
    names = [f"queue-{number}" for number in range(QUEUES)]
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
