"""Running what is in a queue, until nothing is left to take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bullrush import aio
from bullrush.extending import Handle, shows_options
from bullrush.tasks import Tasks
from bullrush.worker import RunStats, Worker, WorkerOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack


@shows_options
def work(queue: Any, handler: Any = None, *, max_jobs: int | None = None, **options: Unpack[WorkerOptions]) -> RunStats:
    """Run the jobs that are in a queue now, and those that they add, until there is nothing to take.

    Jobs that are not due yet stay; move a `Clock` to run them. Jobs with a ``target`` need a worker that matches:
    ``work(queue, handler, profile={"capabilities": ["gpu"]})``.

    Args:
        queue: a `Queue`, the name of one, or tasks.
        handler: as for `Worker`: a function, or functions by name; none for tasks.
        max_jobs: stop after so many jobs, for jobs that add new ones for ever.
        options: options of the worker.

    Returns:
        How many jobs completed, failed for good and were retried.
    """
    with Worker(*_target(queue, handler), **place(queue), **options) as worker:
        return worker.run(until="empty", max_jobs=max_jobs, signals=False)


@shows_options
async def awork(
    queue: Any, handler: Any = None, *, max_jobs: int | None = None, **options: Unpack[WorkerOptions]
) -> RunStats:
    """Do what `work` does, on the running event loop; for coroutine functions.

    Args:
        queue: see `work`.
        handler: see `work`.
        max_jobs: see `work`.
        options: see `work`.
    """
    async with aio.Worker(*_target(queue, handler), **place(queue), **options) as worker:
        return await worker.run(until="empty", max_jobs=max_jobs, signals=False)


def _target(queue: Any, handler: Any) -> tuple[Any, ...]:
    target = queue.name if isinstance(queue, Handle) else queue
    return (target,) if handler is None else (target, handler)


def place(queue: Any) -> dict[str, Any]:
    """Return where a queue or tasks are, as options; nothing for a name."""
    if isinstance(queue, Tasks):
        return {"url": queue.url, "prefix": queue.prefix}
    return {"url": queue.opts.get("url"), "prefix": queue.prefix} if isinstance(queue, Handle) else {}
