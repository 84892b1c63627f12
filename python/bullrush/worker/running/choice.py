"""Chooses the runner of a worker: by the kind of its handlers, and by its option ``isolation``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from bullrush.job.job import AsyncJob, Job, JobT
from bullrush.job.owner import JobOwner, JobWorker
from bullrush.worker.handlers.given import Handlers
from bullrush.worker.processor import Processor
from bullrush.worker.running.loops import LoopRunner, LoopThreadRunner
from bullrush.worker.running.plain_calls import PlainCalls
from bullrush.worker.running.runner import Runner
from bullrush.worker.running.threads import ThreadRunner

if TYPE_CHECKING:
    from bullrush._core import CoreWorker, JobRecord
    from bullrush.values.options import Settings
    from bullrush.worker.lanes.sources import LaneSources

    _JobType: TypeAlias = Callable[[JobRecord, JobOwner], JobT]


def new_runner(
    worker: JobWorker,
    core: CoreWorker,
    handlers: Handlers,
    settings: Settings,
    *,
    url: str,
    slots: int,
    sources: LaneSources | None,
    traced: Callable[[Callable[..., Any]], Callable[..., Any]],
    on_loop: type[LoopRunner],
) -> Runner:
    """Return the runner for a run of a worker.

    Args:
        worker: the worker.
        core: the compiled side of the run.
        handlers: its handlers.
        settings: its options.
        url: the URL of Redis, for handlers in other processes.
        slots: how many jobs, or batches, run at the same time.
        sources: where its jobs come from; None if all come from its own queue.
        traced: returns a handler with a span around each call.
        on_loop: the runner for coroutine functions.
    """
    batched, size, name = settings.batch_handler is not None, settings.batch_size, f"bullrush-{worker.name}"
    plain_job, async_job = _job_types(sources)

    def on_threads(function: Callable[..., Any]) -> Any:
        calls: Processor[Job] = Processor(core, function, plain_job, worker)
        return calls.run_batch if batched else calls.run_each

    if settings.isolation == "process":
        from bullrush.worker.process.child import ProcessSetup
        from bullrush.worker.process.runner import HandlerProcesses, ProcessRunner

        setup = ProcessSetup(url, worker.prefix, handlers.pickled, batched)
        children = HandlerProcesses(setup, worker)
        run: Callable[..., Any] = children.run_many if batched else children.run_one
        if handlers.dispatch is not None:
            run = handlers.dispatch.with_all(children.run_one)
        return ProcessRunner(core, on_threads(traced(run)), slots=slots, batch_size=size, name=name, children=children)
    if handlers.coroutine is None:
        assert handlers.plain is not None
        return ThreadRunner(core, on_threads(handlers.plain), slots, size, name)
    tasks: Processor[AsyncJob] = Processor(core, handlers.coroutine, async_job, worker)
    runner = on_loop(core, tasks.run_batch_async if batched else tasks.run_one_async, slots, size)
    if handlers.plain is not None:
        runner.plain = PlainCalls(core, on_threads(handlers.plain), slots, name)
        runner.runs_on_loop = handlers.runs_on_loop
    if handlers.source is not None and isinstance(runner, LoopThreadRunner):
        source = handlers.source
        runner.lifespan = lambda: source.arunning(worker)
    return runner


def _job_types(sources: LaneSources | None) -> tuple[_JobType[Job], _JobType[AsyncJob]]:
    """Return what makes the jobs of plain and of coroutine functions."""
    return (Job, AsyncJob) if sources is None else (sources.job_type(Job), sources.job_type(AsyncJob))
