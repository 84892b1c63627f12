"""A worker of ours that runs by itself until nothing is left to do; records all that its handler and its listeners see.

node/worker_run.js is the same for real BullMQ.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from redis import Redis

from bullrush import Worker, aio
from tests.interop.sides.queue_side import QueueSide
from tests.interop.sides.results import FIELDS, MOMENTS, snaked
from tests.interop.sides.scripted import Scripted

POLL_SECONDS = 0.005
HUNG_SECONDS = 15


@dataclass(frozen=True)
class Sight:
    """What there is in a queue and what its only worker does, at one moment."""

    ready: int
    active: int
    delayed: int
    #: A rate limit holds, after whose end the worker looks by itself.
    is_limited: bool
    is_blocked: bool

    @property
    def is_asleep(self) -> bool:
        """Whether jobs are ready, and the worker waits for somebody to set a marker."""
        return bool(self.ready) and not self.active and self.is_blocked


class Watch:
    """Records what a handler and listeners see, each job as it is at that moment."""

    def __init__(self) -> None:
        #: The worker has waited for the end of a rate limit: how late it looks then is not determined.
        self.was_limited = False
        self.saw: dict[str, list[Any]] = {
            name: [] for name in ("runs", "active", "outcomes", "progress", "drained", "errors")
        }

    def started(self, job: Any) -> None:
        self.saw["runs"].append(seen(job))

    def listen(self, worker: Any) -> None:
        """Record all local events of a worker."""
        saw = self.saw
        worker.on("active", lambda job: saw["active"].append(seen(job)))
        worker.on("completed", lambda job, result: saw["outcomes"].append(["completed", seen(job), result]))
        worker.on("failed", lambda job, error: saw["outcomes"].append(["failed", seen(job), str(error)]))
        worker.on("progress", lambda job, progress: saw["progress"].append([seen(job), progress]))
        worker.on("drained", lambda: saw["drained"].append("drained"))
        worker.on("error", lambda error: saw["errors"].append(str(error)))


def seen(job: Any) -> dict[str, Any]:
    """Return what a client sees of a job now."""
    fields = {name: getattr(job, name) for name in (*FIELDS.values(), "stacktrace")}
    fields["stacktrace"] = len(fields["stacktrace"] or [])
    found = {name: True if name in MOMENTS else value for name, value in fields.items() if value is not None}
    if not job.returnvalue:
        found.pop("returnvalue", None)
    copied: dict[str, Any] = json.loads(json.dumps(found))
    return copied


class WorkerRunSide(QueueSide):
    """Our queue, and workers that run by themselves."""

    def __init__(self, url: str, queue: str, prefix: str = "bull", *, fan_out: bool = False) -> None:
        super().__init__(url, queue, prefix, fan_out=fan_out)
        self._client = Redis.from_url(url, decode_responses=True)
        self._database = url.rpartition("/")[2]

    def run_worker(self, kind: str, delays: bool, **options: Any) -> Any:
        """Let a worker of one kind run until no job is left, with ``delays`` no delayed one either.

        Return what it saw.
        """
        watch, handler = Watch(), Scripted(self._queue)
        settings = {"url": self._url, "prefix": self._prefix, "skip_stalled_check": True, "max_backoff": None}
        settings |= {"fan_out": self._fan_out} | snaked(options)

        def run(job: Any) -> Any:
            watch.started(job)
            return handler.run(job)

        async def run_async(job: Any) -> Any:
            watch.started(job)
            return await handler.run_async(job)

        def run_batch(jobs: list[Any]) -> Any:
            for job in jobs:
                watch.started(job)
            return handler.run_batch(jobs)

        if kind == "aio":
            asyncio.run(self._run_async(aio.Worker(self._name, run_async, **settings), watch, delays))
            return watch.saw
        if kind == "batch":
            size = settings.pop("concurrency", 1)
            worker = Worker(self._name, batch_handler=run_batch, batch_size=size, **settings)
        else:
            worker = Worker(self._name, run_async if kind == "async def" else run, **settings)
        watch.listen(worker)
        thread = threading.Thread(target=worker.run)
        thread.start()
        _poll(lambda: self._is_done(watch, delays))
        worker.close()
        thread.join()
        return watch.saw

    async def _run_async(self, worker: "aio.Worker", watch: Watch, delays: bool) -> None:
        watch.listen(worker)
        running = asyncio.create_task(worker.run())
        await asyncio.to_thread(_poll, lambda: self._is_done(watch, delays))
        await worker.close()
        await running

    def _is_done(self, watch: Watch, delays: bool) -> bool:
        now = self._look()
        if now.is_limited:
            watch.was_limited = True
        elif now.is_asleep and not watch.was_limited:
            watch.saw["errors"].append(f"the worker sleeps while {now.ready} jobs are ready, and nothing will wake it")
            return True
        is_empty = not now.ready and not now.active and not (delays and now.delayed)
        return bool(watch.saw["drained"]) and is_empty

    def _look(self) -> "Sight":
        base = f"{self._prefix}:{self._name}:"
        with self._client.pipeline(transaction=True) as pipe:  # so that all of it is of one moment
            pipe.llen(base + "wait").zcard(base + "prioritized").llen(base + "active").zcard(base + "delayed")
            pipe.exists(base + "limiter").client_list()
            waiting, prioritized, active, delayed, limits, clients = pipe.execute()
        mine = [client for client in clients if client["db"] == self._database]
        return Sight(waiting + prioritized, active, delayed, bool(limits), any("b" in one["flags"] for one in mine))


def _poll(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + HUNG_SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
