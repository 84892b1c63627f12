"""The steps of a sequence, done by real BullMQ. This is the full vocabulary; the other sides speak the same one."""

from dataclasses import dataclass, field
from typing import Any

from .node_process import NodeError, NodeProcess
from .state import coarse_ttl


@dataclass(frozen=True)
class Failed:
    """The result of a step that was refused. Our scripts know only codes; in words it is compared at the API."""

    code: int | None
    message: str = ""


@dataclass(frozen=True)
class Batch:
    """The result of finishing many jobs: the codes of those refused, and the ids fetched with them."""

    refused: dict[str, int | None]
    fetched: list[str]


@dataclass
class NodeSide:
    """Real BullMQ on one queue of one Redis database.

    ``worker`` options in a step are BullMQ's (``name``, ``lockDuration``, ``limiter``, ``metrics``, keep rules).
    Without ``words`` a refusal is told by its code alone.
    """

    node: NodeProcess
    db: int
    prefix: str
    queue: str
    words: bool = False
    now: int | None = field(default=None, init=False)

    @property
    def at(self) -> dict[str, Any]:
        return {"db": self.db, "prefix": self.prefix, "queue": self.queue}

    def prepare(self) -> None:
        self._queue("waitUntilReady")
        self.call("queue", method="count", args=[])

    def set_clock(self, now: int | None) -> None:
        self.now = now

    def call(self, op: str, **args: Any) -> Any:
        self.node.call("clock", now=self.now)
        try:
            return self.node.call(op, at=self.at, **args)
        except NodeError as error:
            return Failed(error.code, str(error) if self.words else "")

    def _queue(self, method: str, *args: Any) -> Any:
        result = self.call("queue", method=method, args=list(args))
        return result if isinstance(result, Failed) else None

    def _job(self, id: str, method: str, *args: Any) -> Any:
        result = self.call("job", jobId=id, method=method, args=list(args))
        return result if isinstance(result, Failed) else None

    # producers
    def add(self, name: str, data: Any = None, **opts: Any) -> Any:
        return _id(self.call("queue", method="add", args=[name, data, opts]))

    def add_bulk(self, jobs: list[dict[str, Any]]) -> Any:
        added = self.call("queue", method="addBulk", args=[jobs])
        return added if isinstance(added, Failed) else [_id(job) for job in added]

    def add_flow(self, flow: dict[str, Any]) -> Any:
        return self.call("flow", flow=flow)

    def upsert_scheduler(self, id: str, repeat: dict[str, Any], template: dict[str, Any]) -> Any:
        return _id(self.call("queue", method="upsertJobScheduler", args=[id, repeat, template]))

    # workers
    def fetch(self, token: str, **worker: Any) -> Any:
        return _id(self.call("fetch", token=token, worker=worker))

    def fetch_many(self, count: int, token: str, **worker: Any) -> Any:
        ids = []
        while len(ids) < count and (id := self.fetch(token, **worker)):
            ids.append(id)
        return ids

    def complete(self, id: str, value: Any, token: str, fetch_next: bool = False, **worker: Any) -> Any:
        return _id(self.call("complete", jobId=id, value=value, token=token, fetchNext=fetch_next, worker=worker))

    def complete_many(self, values: dict[str, Any], token: str, fetch_next: bool = False, **worker: Any) -> Any:
        return _batch({id: self.complete(id, value, token, fetch_next, **worker) for id, value in values.items()})

    def fail(
        self,
        id: str,
        message: str,
        token: str,
        *,
        unrecoverable: bool = False,
        fetch_next: bool = False,
        **worker: Any,
    ) -> Any:
        error = {"message": message, "unrecoverable": unrecoverable}
        return _id(self.call("fail", jobId=id, error=error, token=token, fetchNext=fetch_next, worker=worker))

    def fail_many(self, reasons: dict[str, str], token: str, **worker: Any) -> Any:
        return _batch({id: self.fail(id, reason, token, **worker) for id, reason in reasons.items()})

    def work(self, at_most: int | None = None, **worker: Any) -> Any:
        """Fetch and run jobs, each with the next one, until nothing can be fetched; return the ids that ran, in order.

        Ours waits for a rate limit to run out instead, so a limited run has to end after ``at_most`` jobs.
        """
        ran: list[str] = []
        while len(ran) != at_most and (turn := self.call("work", token="t:0", worker=worker))["found"]:
            ran += turn["ran"]
        return ran if worker.get("concurrency", 1) == 1 else sorted(ran)

    def move_to_delayed(self, id: str, delay: int, token: str) -> Any:
        assert self.now is not None
        return self._job(id, "moveToDelayed", self.now + delay, token)

    def move_to_wait(self, id: str, token: str) -> Any:
        reply = self.call("job", jobId=id, method="moveToWait", args=[token])
        return reply if isinstance(reply, Failed) else coarse_ttl(reply)

    def extend_locks(self, duration: int, held: dict[str, str]) -> Any:
        return self.call("extendLocks", jobIds=list(held), tokens=list(held.values()), duration=duration)

    def stalled(self, **worker: Any) -> Any:
        return self.call("stalled", worker=worker)

    def stalled_in_parts(self, limit: int, **worker: Any) -> Any:
        """Do a stalled pass; ``limit`` is how many jobs our side recovers per call."""
        return sorted(self.stalled(**worker))

    # management
    def pause(self) -> Any:
        return self._queue("pause")

    def resume(self) -> Any:
        return self._queue("resume")

    def drain(self, delayed: bool = False) -> Any:
        return self._queue("drain", delayed)

    def obliterate(self, force: bool = False, count: int = 1000) -> Any:
        return self._queue("obliterate", {"force": force, "count": count})

    def retry_jobs(self, state: str = "failed", count: int = 1000, timestamp: int | None = None) -> Any:
        limit = {} if timestamp is None else {"timestamp": timestamp}
        return self._queue("retryJobs", {"state": state, "count": count, **limit})

    def promote_jobs(self, count: int = 1000) -> Any:
        return self._queue("promoteJobs", {"count": count})

    def remove(self, id: str, remove_children: bool = True) -> Any:
        return self.call("queue", method="remove", args=[id, {"removeChildren": remove_children}])

    def rate_limit(self, ms: int) -> Any:
        return self._queue("rateLimit", ms)

    def set_global_concurrency(self, concurrency: int) -> Any:
        return self._queue("setGlobalConcurrency", concurrency)

    def remove_global_concurrency(self) -> Any:
        return self._queue("removeGlobalConcurrency")

    def set_global_rate_limit(self, max: int, duration: int) -> Any:
        return self._queue("setGlobalRateLimit", max, duration)

    def remove_global_rate_limit(self) -> Any:
        return self._queue("removeGlobalRateLimit")

    # one job
    def promote(self, id: str) -> Any:
        return self._job(id, "promote")

    def change_delay(self, id: str, delay: int) -> Any:
        return self._job(id, "changeDelay", delay)

    def change_priority(self, id: str, priority: int, lifo: bool = False) -> Any:
        return self._job(id, "changePriority", {"priority": priority, "lifo": lifo})

    def update_data(self, id: str, data: Any) -> Any:
        return self._job(id, "updateData", data)

    def update_progress(self, id: str, progress: Any) -> Any:
        return self._queue("updateJobProgress", id, progress)

    def add_log(self, id: str, row: str, keep: int | None = None) -> Any:
        return self.call("queue", method="addJobLog", args=[id, row, *([] if keep is None else [keep])])

    def clear_logs(self, id: str, keep: int | None = None) -> Any:
        return self._job(id, "clearLogs", *([] if keep is None else [keep]))

    def retry(self, id: str, state: str = "failed") -> Any:
        return self._job(id, "retry", state)

    # getters
    def counts(self, *types: str) -> Any:
        return self.call("queue", method="getJobCounts", args=list(types))

    def ranges(self, types: list[str], start: int = 0, end: int = -1, asc: bool = False) -> Any:
        return self.call("queue", method="getRanges", args=[types, start, end, asc])

    def state(self, id: str) -> Any:
        return self.call("queue", method="getJobState", args=[id])


def _id(job: Any) -> Any:
    return job["id"] if isinstance(job, dict) else job


def _batch(results: dict[str, Any]) -> Batch:
    refused = {id: result.code for id, result in results.items() if isinstance(result, Failed)}
    return Batch(refused, [result for result in results.values() if isinstance(result, str)])
