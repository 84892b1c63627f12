"""The steps of a sequence, done by real BullMQ. This class has every step; the other sides have the same names."""

from dataclasses import dataclass, field
from typing import Any

from .node_process import NodeError, NodeProcess
from .results import FIELDS, Failed, batch_of, id_of, run_log, snaked, tree_of
from .state import coarse_ttl


@dataclass
class NodeSide:
    """Real BullMQ on one queue of one Redis database.

    ``worker`` options in a step are BullMQ's (``name``, ``lockDuration``, ``limiter``, ``metrics``, keep rules).
    Without ``words`` a refusal has only its code.
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

    def reopen(self) -> None:
        """Make a new `Queue`: it writes its version."""
        self.node.call("close", stem=self.queue)
        self.prepare()

    def set_clock(self, now: int | None) -> None:
        self.now = now

    def call(self, op: str, **args: Any) -> Any:
        try:
            return self.node.call(op, now=self.now, at=self.at, **args)
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
        return id_of(self.call("queue", method="add", args=[name, data, opts]))

    def add_bulk(self, jobs: list[dict[str, Any]]) -> Any:
        added = self.call("queue", method="addBulk", args=[jobs])
        return added if isinstance(added, Failed) else [id_of(job) for job in added]

    def add_flow(self, flow: dict[str, Any], queues_options: dict[str, Any] | None = None) -> Any:
        """Add a tree of jobs; return their ids as ``(id, [of each child])``."""
        options = [] if queues_options is None else [{"queuesOptions": queues_options}]
        return tree_of(self.call("flows", method="add", args=[flow, *options]))

    def add_flows(self, flows: list[dict[str, Any]]) -> Any:
        added = self.call("flows", method="addBulk", args=[flows])
        return added if isinstance(added, Failed) else [tree_of(node) for node in added]

    def upsert_scheduler(self, id: str, repeat: dict[str, Any], template: dict[str, Any] | None = None) -> Any:
        args = [id, repeat, *([] if template is None else [template])]
        return id_of(self.call("queue", method="upsertJobScheduler", args=args))

    def remove_scheduler(self, id: str) -> Any:
        return self.call("queue", method="removeJobScheduler", args=[id])

    # workers
    def fetch(self, token: str, **worker: Any) -> Any:
        return id_of(self.call("fetch", token=token, worker=worker))

    def fetch_many(self, count: int, token: str, **worker: Any) -> Any:
        ids = []
        while len(ids) < count and (id := self.fetch(token, **worker)):
            ids.append(id)
        return ids

    def complete(self, id: str, value: Any, token: str, fetch_next: bool = False, **worker: Any) -> Any:
        return id_of(self.call("complete", jobId=id, value=value, token=token, fetchNext=fetch_next, worker=worker))

    def complete_many(self, values: dict[str, Any], token: str, fetch_next: bool = False, **worker: Any) -> Any:
        return batch_of({id: self.complete(id, value, token, fetch_next, **worker) for id, value in values.items()})

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
        return id_of(self.call("fail", jobId=id, error=error, token=token, fetchNext=fetch_next, worker=worker))

    def fail_many(self, reasons: dict[str, str], token: str, **worker: Any) -> Any:
        return batch_of({id: self.fail(id, reason, token, **worker) for id, reason in reasons.items()})

    def work(self, at_most: int | None = None, **worker: Any) -> Any:
        """Fetch and run jobs, each with the next one, until nothing can be fetched; return the ids that ran, in order.

        Ours waits for a rate limit to run out instead, so a limited run has to end after ``at_most`` jobs.
        """
        ran: list[str] = []
        while len(ran) != at_most and (turn := self.call("work", token="t:0", worker=worker))["found"]:
            ran += turn["ran"]
        return ran if worker.get("concurrency", 1) == 1 else sorted(ran)

    def run_worker(self, kind: str, delays: bool, prefetch: int | None = None, **worker: Any) -> Any:
        """Let a worker run until no job is left.

        See `worker_run.py`. ``kind`` and ``prefetch`` are only for our side.
        """
        saw = self.call("runWorker", delays=delays, opts={"skipStalledCheck": True, **worker})
        return saw if isinstance(saw, Failed) else run_log(saw)

    def move_to_delayed(self, id: str, delay: int, token: str) -> Any:
        assert self.now is not None
        return self._job(id, "moveToDelayed", self.now + delay, token)

    def move_to_wait(self, id: str, token: str) -> Any:
        reply = self.call("job", jobId=id, method="moveToWait", args=[token])
        return reply if isinstance(reply, Failed) else coarse_ttl(reply)

    def move_to_waiting_children(self, id: str, token: str, child: dict[str, str] | None = None) -> Any:
        options = [] if child is None else [{"child": child}]
        return self.call("job", jobId=id, method="moveToWaitingChildren", args=[token, *options])

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

    def promote_many(self, ids: list[str]) -> Any:
        return [id for id in ids if not isinstance(self.promote(id), Failed)]

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

    def remove_rate_limit_key(self) -> Any:
        return self._queue("removeRateLimitKey")

    def clean(self, grace: int, limit: int, type: str = "completed") -> Any:
        return self.call("queue", method="clean", args=[grace, limit, type])

    def trim_events(self, max_length: int) -> Any:
        return self._queue("trimEvents", max_length)

    def remove_deduplication_key(self, id: str) -> Any:
        return self.call("queue", method="removeDeduplicationKey", args=[id])

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

    def log(self, id: str, row: str) -> Any:
        return self.call("job", jobId=id, method="log", args=[row])

    def remove_job(self, id: str, remove_children: bool = True) -> Any:
        result = self._job(id, "remove", {"removeChildren": remove_children})
        # BullMQ has only an error text for it, no code.
        return Failed(-6, result.message) if isinstance(result, Failed) and "locked" in result.message else result

    def remove_child_dependency(self, id: str) -> Any:
        return self.call("job", jobId=id, method="removeChildDependency", args=[])

    def remove_unprocessed_children(self, id: str) -> Any:
        return self._job(id, "removeUnprocessedChildren")

    # getters
    def job(self, id: str) -> Any:
        """Return what a client sees of a job, without its options; None when there is no such job."""
        job = self.call("queue", method="getJob", args=[id])
        fields = {FIELDS[name]: value for name, value in job.items() if name in FIELDS} if job else {}
        return {name: value for name, value in fields.items() if value is not None} or None

    def dependencies(self, id: str) -> Any:
        """Return the dependencies of a job: counts, results and ignored failures of its children."""
        counts = self.call("job", jobId=id, method="getDependenciesCount", args=[])
        values = self.call("job", jobId=id, method="getChildrenValues", args=[])
        ignored = self.call("job", jobId=id, method="getIgnoredChildrenFailures", args=[])
        return [counts, values, ignored]

    def schedulers(self) -> Any:
        return [snaked(one) for one in self.call("queue", method="getJobSchedulers", args=[0, -1, True])]

    def logs(self, id: str, start: int = 0, end: int = -1, asc: bool = True) -> Any:
        found = self.call("queue", method="getJobLogs", args=[id, start, end, asc])
        return [found["logs"], found["count"]]

    def limits(self) -> Any:
        """Return what limits the queue as a whole."""
        methods = ("isPaused", "isMaxed", "getGlobalConcurrency", "getGlobalRateLimit")
        return [self.call("queue", method=method, args=[]) for method in methods]

    def rate_limit_ttl(self, max_jobs: int | None = None) -> Any:
        return coarse_ttl(self.call("queue", method="getRateLimitTtl", args=[] if max_jobs is None else [max_jobs]))

    def metrics(self, type: str) -> Any:
        found = self.call("queue", method="getMetrics", args=[type])
        return [found["meta"], found["data"], found["count"]]

    def prometheus(self) -> Any:
        return self.call("queue", method="exportPrometheusMetrics", args=[])

    def deduplication_job_id(self, id: str) -> Any:
        return self.call("queue", method="getDeduplicationJobId", args=[id])

    def counts_per_priority(self, priorities: list[int]) -> Any:
        return self.call("queue", method="getCountsPerPriority", args=[priorities])

    def counts(self, *types: str) -> Any:
        return self.call("queue", method="getJobCounts", args=list(types))

    def count(self, *types: str) -> Any:
        """Return how many jobs there are of those states together; of none: how many wait."""
        return self.call("queue", method="getJobCountByTypes" if types else "count", args=list(types))

    def count_of(self, state: str) -> Any:
        """Return how many jobs of one state there are, such as ``WaitingChildren``."""
        return self.call("queue", method=f"get{state}Count", args=[])

    def jobs_of(self, state: str, start: int, end: int) -> Any:
        """Return the ids of the jobs of one state, such as ``WaitingChildren``."""
        return [job["id"] for job in self.call("queue", method=f"get{state}", args=[start, end])]

    def jobs(self, types: list[str], start: int, end: int, asc: bool) -> Any:
        """Return the ids of the jobs of some states."""
        return [job["id"] for job in self.call("queue", method="getJobs", args=[types, start, end, asc]) if job]

    def ranges(self, types: list[str], start: int = 0, end: int = -1, asc: bool = False) -> Any:
        return self.call("queue", method="getRanges", args=[types, start, end, asc])

    def state(self, id: str) -> Any:
        return self.call("queue", method="getJobState", args=[id])
