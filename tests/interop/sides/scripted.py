"""The handler of every test worker of ours: does what the job's own data says, like node/scripted.js."""

import asyncio
import inspect
import threading
import time
from collections.abc import Coroutine
from typing import Any

from bullrush import Job, Queue, aio, errors

#: Never set: a handler that waits for it keeps its job until the process ends.
_NEVER = threading.Event()


def now() -> int:
    return time.time_ns() // 1_000_000


def run_of(job: Any) -> list[list[Any]] | None:
    """Return the actions of this start of the job, None if the data holds none."""
    runs = job.data.get("runs") if isinstance(job.data, dict) else None
    return None if runs is None else runs[min(job.attempts_started, len(runs)) - 1]


class Scripted:
    """The handler, as a plain and as a coroutine function; ``queue`` is for jobs that limit it or add to others."""

    def __init__(self, queue: Queue | None = None) -> None:
        self._queue = queue

    def run(self, job: Job) -> Any:
        """Do it on a thread."""
        return _now(self._act(job))

    async def run_async(self, job: "aio.Job") -> Any:
        """Do it on an event loop."""
        return await self._act(job)

    def run_batch(self, jobs: list[Job]) -> list[Any]:
        """Do it for a batch, one job after the other."""
        return [self._outcome(job) for job in jobs]

    def _outcome(self, job: Job) -> Any:
        try:
            return self.run(job)
        except Exception as error:
            return error

    async def _act(self, job: Any) -> Any:
        run = run_of(job)
        if run is None:
            return job.data
        for name, *argument in run:
            if name == "return":
                return argument[0]
            result = getattr(self, f"_{name}")(job, *argument)
            if inspect.isawaitable(result):
                result = await result
            if name == "children_values":
                return result
            if result is not None and name in _MOVES:
                raise result
        return None

    # what changes the job
    def _progress(self, job: Any, value: Any) -> Any:
        return job.update_progress(value)

    def _log(self, job: Any, row: str) -> Any:
        return job.log(row)

    def _update_data(self, job: Any, data: dict[str, Any]) -> Any:
        return job.update_data({**job.data, **data})

    def _discard(self, job: Any) -> None:
        job.discard()

    # what takes time
    def _sleep(self, job: Any, ms: int) -> Any:
        return asyncio.sleep(ms / 1000) if isinstance(job, aio.Job) else time.sleep(ms / 1000)

    def _hold(self, _job: Any) -> None:
        _NEVER.wait()

    # how it ends
    def _throw(self, _job: Any, message: str) -> None:
        raise RuntimeError(message)

    def _unrecoverable(self, _job: Any, message: str) -> None:
        raise errors.UnrecoverableError(message)

    async def _delay(self, job: Any, ms: int) -> Exception:
        await _done(job.move_to_delayed(now() + ms))
        return errors.DelayedError()

    async def _wait(self, job: Any) -> Exception:
        await _done(job.move_to_wait())
        return errors.WaitingError()

    async def _wait_children(self, job: Any) -> Exception | None:
        return errors.WaitingChildrenError() if await _done(job.move_to_waiting_children()) else None

    def _children_values(self, job: Any) -> Any:
        return job.get_children_values()

    def _rate_limit(self, _job: Any, ms: int) -> Exception:
        assert self._queue is not None
        self._queue.rate_limit(ms)
        return errors.RateLimitError()

    def _add_child(self, job: Any, child: dict[str, Any]) -> None:
        """Add a job below this one; ``queue`` is its queue's qualified name."""
        assert self._queue is not None
        prefix, _, name = child["queue"].rpartition(":")
        parent = {"id": job.id, "queue": f"{prefix}:{self._queue.name}"}
        with Queue(name, url=self._queue._url, prefix=prefix) as queue:
            queue.add("child", child["data"], parent=parent)


#: Actions that return what to raise.
_MOVES = {"delay", "wait", "wait_children", "rate_limit"}


async def _done(call: Any) -> Any:
    """Return what a call of either kind of job returns."""
    return await call if inspect.isawaitable(call) else call


def _now(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine that never waits, since the calls of a plain job are not awaited."""
    try:
        coroutine.send(None)
    except StopIteration as stopped:
        return stopped.value
    raise AssertionError("a plain job's call was awaited")


scripted = Scripted().run
scripted_async = Scripted().run_async
