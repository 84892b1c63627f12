"""The steps of a sequence, done with bullrush's public API."""

from collections.abc import Callable
from typing import Any

from bullrush import FlowProducer, Job, JobNode, Queue, Worker
from bullrush.errors import BullrushError
from bullrush.job.record import GivenRecord

from .results import FIELDS, Failed, snake, snaked
from .scripted import Scripted
from .state import coarse_ttl


def ids_of(node: JobNode[Any]) -> Any:
    """Return the ids of a tree of jobs, in the form of all sides."""
    return node.job.id, [ids_of(child) for child in node.children]


def refusals_as_results(step: Callable[..., Any]) -> Callable[..., Any]:
    """Turn an exception of bullrush into the result of a refused step."""

    def attempt(*args: Any, **kwargs: Any) -> Any:
        try:
            return step(*args, **kwargs)
        except BullrushError as error:
            return Failed(getattr(error, "code", None), str(error))

    return attempt


class QueueSide:
    """Our queue and worker, on the real clock. ``fan_out``: both set markers for several workers at once."""

    def __init__(self, url: str, queue: str, prefix: str = "bull", *, fan_out: bool = False) -> None:
        self._url = url
        self._name = queue
        self._prefix = prefix
        self._fan_out = fan_out
        self._queue = Queue(queue, url=url, prefix=prefix, fan_out=fan_out)
        self._flows = FlowProducer(url=url, prefix=prefix, fan_out=fan_out)
        self._added: dict[str, Any] = {}

    def __getattribute__(self, name: str) -> Any:
        attribute = super().__getattribute__(name)
        return refusals_as_results(attribute) if not name.startswith("_") and callable(attribute) else attribute

    def prepare(self) -> None:
        self._queue.wait_until_ready()

    def set_clock(self, now: int) -> None:
        """Do nothing: our side has only the real clock, and a pair on real clocks never sets it."""

    def _job(self, id: str) -> Any:
        """Return the job from Redis; for a missing job the producer's object or a placeholder, to see the refusal."""
        return self._queue.get_job(id) or self._added.get(id) or Job(_nobody(id), self._queue)

    # producers
    def add(self, name: str, data: Any = None, **opts: Any) -> Any:
        job = self._queue.add(name, data, **snaked(opts))
        self._added[job.id] = job
        return job.id

    def add_bulk(self, jobs: list[dict[str, Any]]) -> Any:
        jobs = [{**job, "opts": snaked(job.get("opts", {}))} for job in jobs]
        return [job.id for job in self._queue.add_bulk(jobs)]

    def add_flow(self, flow: dict[str, Any], queues_options: dict[str, Any] | None = None) -> Any:
        options = {queue: snaked(defaults) for queue, defaults in (queues_options or {}).items()}
        return ids_of(self._flows.add(snaked(flow), queues_options=options))

    def add_flows(self, flows: list[dict[str, Any]]) -> Any:
        return [ids_of(node) for node in self._flows.add_bulk([snaked(flow) for flow in flows])]

    def remove_deduplication_key(self, id: str) -> Any:
        return self._queue.remove_deduplication_key(id)

    def deduplication_job_id(self, id: str) -> Any:
        return self._queue.get_deduplication_job_id(id)

    def upsert_scheduler(self, id: str, repeat: dict[str, Any], template: dict[str, Any] | None = None) -> Any:
        if template is not None and "opts" in template:
            template = {**template, "opts": snaked(template["opts"])}
        job = self._queue.upsert_job_scheduler(id, snaked(repeat), template)
        return job.id if job else None

    def remove_scheduler(self, id: str) -> Any:
        return self._queue.remove_job_scheduler(id)

    def schedulers(self) -> Any:
        return self._queue.get_job_schedulers(0, -1, True)

    # workers
    def work(self, at_most: int | None = None, **options: Any) -> Any:
        """Work until nothing can be fetched; return the ids that ran, in order."""
        worked: list[str] = []
        handler = Scripted(self._queue).run

        def noting(job: Any) -> Any:
            worked.append(job.id)
            return handler(job)

        settings = {"skip_stalled_check": True, "prefetch": 0, **snaked(options)}
        with Worker(self._name, noting, url=self._url, **settings) as worker:
            worker.run(until="empty", max_jobs=at_most)
        return worked if options.get("concurrency", 1) == 1 else sorted(worked)

    # management
    def pause(self) -> Any:
        self._queue.pause()

    def resume(self) -> Any:
        self._queue.resume()

    def drain(self, delayed: bool = False) -> Any:
        self._queue.drain(delayed)

    def clean(self, grace: int, limit: int, type: str = "completed") -> Any:
        return self._queue.clean(grace, limit, type)

    def trim_events(self, max_length: int) -> Any:
        self._queue.trim_events(max_length)

    def obliterate(self, force: bool = False, count: int = 1000) -> Any:
        self._queue.obliterate(force=force, count=count)

    def retry_jobs(self, state: str = "failed", count: int = 1000, timestamp: int | None = None) -> Any:
        self._queue.retry_jobs(state=state, count=count, timestamp=timestamp)

    def promote_jobs(self, count: int = 1000) -> Any:
        self._queue.promote_jobs(count=count)

    def promote_many(self, ids: list[str]) -> Any:
        return self._queue.promote_many(ids)

    def remove(self, id: str, remove_children: bool = True) -> Any:
        return self._queue.remove(id, remove_children=remove_children)

    def rate_limit(self, ms: int) -> Any:
        self._queue.rate_limit(ms)

    def remove_rate_limit_key(self) -> Any:
        self._queue.remove_rate_limit_key()

    def set_global_concurrency(self, concurrency: int) -> Any:
        self._queue.set_global_concurrency(concurrency)

    def remove_global_concurrency(self) -> Any:
        self._queue.remove_global_concurrency()

    def set_global_rate_limit(self, max: int, duration: int) -> Any:
        self._queue.set_global_rate_limit(max, duration)

    def remove_global_rate_limit(self) -> Any:
        self._queue.remove_global_rate_limit()

    # one job
    def promote(self, id: str) -> Any:
        self._job(id).promote()

    def change_delay(self, id: str, delay: int) -> Any:
        self._job(id).change_delay(delay)

    def change_priority(self, id: str, priority: int, lifo: bool = False) -> Any:
        self._job(id).change_priority(priority=priority, lifo=lifo)

    def update_data(self, id: str, data: Any) -> Any:
        self._job(id).update_data(data)

    def update_progress(self, id: str, progress: Any) -> Any:
        self._queue.update_job_progress(id, progress)

    def add_log(self, id: str, row: str, keep: int | None = None) -> Any:
        return self._queue.add_job_log(id, row, keep or 0)  # None keeps all rows in BullMQ, and 100 here

    def clear_logs(self, id: str, keep: int | None = None) -> Any:
        self._job(id).clear_logs(keep)

    def retry(self, id: str, state: str = "failed") -> Any:
        self._job(id).retry(state)

    def log(self, id: str, row: str) -> Any:
        return self._job(id).log(row)

    def remove_job(self, id: str, remove_children: bool = True) -> Any:
        self._job(id).remove(remove_children=remove_children)

    def remove_child_dependency(self, id: str) -> Any:
        return self._job(id).remove_child_dependency()

    def remove_unprocessed_children(self, id: str) -> Any:
        self._job(id).remove_unprocessed_children()

    # getters
    def job(self, id: str) -> Any:
        job = self._queue.get_job(id)
        fields = {name: getattr(job, name) for name in FIELDS.values()} if job else {}
        return {name: value for name, value in fields.items() if value is not None} or None

    def logs(self, id: str, start: int = 0, end: int = -1, asc: bool = True) -> Any:
        found = self._queue.get_job_logs(id, start, end, asc)
        return [found["logs"], found["count"]]

    def limits(self) -> Any:
        queue = self._queue
        limit = queue.get_global_rate_limit()
        return [queue.is_paused(), queue.is_maxed(), queue.get_global_concurrency(), limit and dict(limit)]

    def dependencies(self, id: str) -> Any:
        job = self._job(id)
        return [job.get_dependencies_count(), job.get_children_values(), job.get_ignored_children_failures()]

    def rate_limit_ttl(self, max_jobs: int | None = None) -> Any:
        return coarse_ttl(self._queue.get_rate_limit_ttl(max_jobs))

    def metrics(self, type: str) -> Any:
        found = self._queue.get_metrics(type)
        meta = found["meta"]
        theirs = {"count": meta["count"], "prevTS": meta["prev_ts"], "prevCount": meta["prev_count"]}
        return [theirs, found["data"], found["count"]]

    def prometheus(self) -> Any:
        return self._queue.export_prometheus_metrics()

    def counts_per_priority(self, priorities: list[int]) -> Any:
        return self._queue.get_counts_per_priority(priorities)

    def counts(self, *types: str) -> Any:
        return self._queue.get_job_counts(*types)

    def count(self, *types: str) -> Any:
        return self._queue.get_job_count_by_types(*types) if types else self._queue.count()

    def count_of(self, state: str) -> Any:
        return getattr(self._queue, f"get{snake(state)}_count")()

    def jobs_of(self, state: str, start: int, end: int) -> Any:
        return [job.id for job in getattr(self._queue, f"get{snake(state)}")(start, end)]

    def jobs(self, types: list[str], start: int, end: int, asc: bool) -> Any:
        return [job.id for job in self._queue.get_jobs(types, start, end, asc)]

    def ranges(self, types: list[str], start: int = 0, end: int = -1, asc: bool = False) -> Any:
        return self._queue.get_ranges(types, start, end, asc)

    def state(self, id: str) -> Any:
        return self._queue.get_job_state(id)


def _nobody(id: str) -> GivenRecord:
    return GivenRecord({"name": "", "data": "{}", "opts": "{}"}, id)
