"""A program as users write it, for type checkers: every way to use the package that has types of its own.

It is never run.
"""

import asyncio
from datetime import timedelta
from typing import Any, TypedDict

from bullrush import (
    Event,
    FlowProducer,
    Job,
    JobNode,
    JobScheduler,
    Queue,
    QueueEvents,
    QueueEventsProducer,
    RunStats,
    UnrecoverableError,
    Worker,
    aio,
)
from bullrush.flow import Flow
from bullrush.job import BackoffOptions, JobOptions, NewJob
from bullrush.queue import QueueOptions
from bullrush.scheduler import JobTemplate, RepeatOptions
from bullrush.worker import WorkerOptions

DEFAULTS: JobOptions = {"attempts": 3, "backoff": {"type": "exponential", "delay": timedelta(seconds=1)}}
SETTINGS: QueueOptions = {"prefix": "bull", "default_job_options": DEFAULTS, "timeout": 5_000}
LIMITED: WorkerOptions = {"concurrency": 8, "limiter": {"max": 10, "duration": 1_000}, "isolation": "thread"}
BACKOFF: BackoffOptions = {"type": "by hand", "jitter": 0.5}
NIGHTLY: RepeatOptions = {"pattern": "0 3 * * *", "tz": "Europe/Paris"}
REPORT: JobTemplate = {"name": "report", "data": {}, "opts": {"attempts": 2}}
MANY: list[NewJob] = [{"name": "render", "data": {"id": number}, "opts": {"priority": 1}} for number in range(3)]
TREE: Flow = {"name": "film", "queue_name": "video", "children": [{"name": "scene", "queue_name": "video"}]}


def render(job: Job) -> dict[str, bool]:
    job.update_progress(50)
    rows: int = job.log("half way")
    job.check_cancelled()
    if job.data is None or rows > 1:
        raise UnrecoverableError("no data")
    return {"ok": True}


class Film(TypedDict):
    id: int


def render_film(job: Job[Film, str]) -> str:
    number: int = job.data["id"]
    return str(number)


async def render_film_async(job: aio.Job[Film, str]) -> str:
    await job.update_progress(50)
    text: str = job.returnvalue
    return text


def render_with_token(job: Job, token: str) -> None:
    job.extend_lock(token, timedelta(seconds=30))


async def render_async(job: aio.Job) -> str:
    await job.update_progress({"percent": 50})
    state: str = await job.get_state()
    return state


async def render_async_with_token(job: aio.Job, token: str) -> bool:
    return await job.extend_lock(token, 30_000)


def render_many(jobs: list[Job]) -> list[Any]:
    return [ValueError("no data") if job.data is None else job.attempts_made for job in jobs]


async def render_many_async(jobs: list[aio.Job]) -> list[str]:
    return [await job.get_state() for job in jobs]


def wait_longer(attempts: int, kind: str, error: BaseException, job: Any) -> timedelta | None:
    return None if kind == "by hand" else timedelta(seconds=attempts)


async def wait_for_seconds(attempts: int, kind: str, error: BaseException, job: Any) -> float:
    await asyncio.sleep(0)
    return attempts * 1_000.0


def on_failed(job: Job, error: Exception) -> None:
    print(job.id, error)


def add_jobs() -> None:
    with Queue("video", **SETTINGS) as queue:
        job: Job = queue.add(
            "render", {"id": 7}, delay=timedelta(seconds=5), backoff=BACKOFF, deduplication={"id": "7"}
        )
        jobs: list[Job] = queue.add_bulk(MANY)
        found: Job | None = queue.get_job(job.id)
        counts: dict[str, int] = queue.get_job_counts("waiting", "active")
        planned: Job | None = queue.upsert_job_scheduler("nightly", NIGHTLY, REPORT)
        schedulers: JobScheduler = queue.job_scheduler
        queue.pause()
        with QueueEvents("video") as events:
            result: Any = job.wait_until_finished(events, timeout=10_000)
    print(jobs, found, counts, planned, schedulers, result)


def add_flow() -> None:
    with FlowProducer(url="redis://127.0.0.1:6379/0") as producer:
        node: JobNode[Job] = producer.add(TREE, queues_options={"video": {"default_job_options": DEFAULTS}})
        children: list[JobNode[Job]] = node.children
        print(node.job.id, children)


def run_workers() -> None:
    with Worker("video", render, **LIMITED) as worker:
        worker.on("failed", on_failed)

        @worker.on("completed")
        def on_completed(job: Job, result: object) -> None:
            print(job.id, result)

        stats: RunStats = worker.run(until="drained", max_seconds=10.0)
        print(stats.completed, on_completed)
    with Worker("video", render_with_token, backoff_strategy=wait_longer), Worker("video", render_async):
        pass
    Worker("video", render_film).close()
    Worker("video", {"film": render_film_async, "scene": render}).close()
    Worker("video", render_async_with_token, backoff_strategy=wait_for_seconds).close()
    Worker("video", batch_handler=render_many, batch_size=500).close(timeout=timedelta(seconds=5))
    Worker("video", batch_handler=render_many_async, batch_size=500).close()


def run_by_hand() -> None:
    with Worker("video") as worker:
        job: Job | None = worker.get_next_job("token", block=False)
        while job is not None:
            job = job.move_to_completed({"ok": True}, "token")


def follow() -> None:
    with QueueEvents("video", last_event_id="0-0") as events, QueueEventsProducer("video") as producer:
        producer.publish_event("rendered", frames=25)
        for event in events.iterate(timeout=1_000):
            followed: Event = event
            print(followed.event, followed.job_id, followed["jobId"])


async def add_jobs_async() -> None:
    async with aio.Queue("video", **SETTINGS) as queue:
        job: aio.Job = await queue.add("render", {"id": 7}, delay=5_000, backoff=BACKOFF)
        jobs: list[aio.Job] = await queue.add_bulk(MANY)
        found: aio.Job | None = await queue.get_job(job.id)
        schedulers: aio.JobScheduler = queue.job_scheduler
        await queue.upsert_job_scheduler("nightly", NIGHTLY, REPORT)
        async with aio.QueueEvents("video") as events, aio.QueueEventsProducer("video") as producer:
            await producer.publish_event("rendered", frames=25)
            result: Any = await job.wait_until_finished(events, timeout=10_000)
            async for event in events:
                followed: Event = event
                print(followed.event)
    async with aio.FlowProducer() as flows:
        node: JobNode[aio.Job] = await flows.add(TREE)
    kept = aio.Queue("video")
    await kept.close()
    print(jobs, found, schedulers, result, node)


async def run_workers_async() -> None:
    async with aio.Worker("video", render_async, **LIMITED) as worker:
        stats: RunStats = await worker.run(until="empty")
    async with aio.Worker(
        "video", batch_handler=render_many_async, batch_size=10, backoff_strategy=wait_for_seconds
    ) as many:
        await many.pause()
    async with aio.Worker("video", render) as plain:
        job: aio.Job | None = await plain.get_next_job("token")
        print(job)
    print(stats)
