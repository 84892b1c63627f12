"""A queue that real BullMQ uses in a Node process, while bullrush uses it in this one."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .node_process import NodeProcess


class TheirQueue:
    """One queue as a Node process uses it. Methods of BullMQ's ``Queue`` and ``Job`` keep their names."""

    def __init__(self, node: NodeProcess, queue: str, opts: dict[str, Any] | None = None) -> None:
        self.node = node
        self._opts = opts or {}
        self._at = {"db": 0, "prefix": "bull", "queue": queue}

    def call(self, method: str, *args: Any) -> Any:
        return self.node.call("queue", at=self._at, opts=self._opts, method=method, args=list(args))

    def add(self, name: str, data: Any = None, **opts: Any) -> str:
        id: str = self.call("add", name, data, opts)["id"]
        return id

    def add_flow(self, flow: dict[str, Any]) -> None:
        self.node.call("flows", at=self._at, method="add", args=[flow])

    def job(self, id: str) -> dict[str, Any]:
        job: dict[str, Any] = self.call("getJob", id)
        return job

    def on_job(self, id: str, method: str, *args: Any) -> Any:
        return self.node.call("job", at=self._at, jobId=id, method=method, args=list(args))

    def work(self, **worker: Any) -> None:
        """Run all jobs that can be fetched now."""
        while self.node.call("work", at=self._at, token="their:0", worker=worker)["found"]:
            pass

    @contextmanager
    def worker(self, **opts: Any) -> Iterator[str]:
        """Run a worker of theirs."""
        id = self.start_worker(**opts)
        try:
            yield id
        finally:
            self.node.call("closeWorker", workerId=id, force=False)

    def start_worker(self, **opts: Any) -> str:
        id = f"{self._at['queue']}:{time.monotonic_ns()}"
        self.node.call("startWorker", at=self._at, workerId=id, opts=opts)
        return id

    def worker_log(self, worker: str) -> list[list[Any]]:
        """Return the local events of a running worker: ``[event, job id, value or message]``."""
        log: list[list[Any]] = self.node.call("workerLog", workerId=worker)
        return log

    def worker_seen(self, worker: str) -> list[list[Any]]:
        """Return what the listeners of a running worker saw of their jobs; see `live/test_listeners.py`."""
        seen: list[list[Any]] = self.node.call("workerSeen", workerId=worker)
        return seen

    @contextmanager
    def listening(self) -> Iterator[Callable[[], list[Any]]]:
        """Record the queue's events from the first one; yield a function that returns those so far."""
        self.node.call("listen", at=self._at)
        try:
            yield lambda: self.node.call("heard", at=self._at)
        finally:
            self.node.call("unlisten", at=self._at)

    def publish_event(self, event: dict[str, Any], max_events: int = 1000) -> None:
        """Publish a custom event with Node's ``QueueEventsProducer``."""
        self.node.call("publishEvent", at=self._at, event=event, maxEvents=max_events)

    def wait_until_finished(self, id: str) -> Any:
        """Return the job's result, or ``{"failed": reason}``; needs `listening`."""
        return self.node.call("waitUntilFinished", at=self._at, jobId=id)

    def close(self) -> None:
        self.node.call("close", stem=self._at["queue"])
