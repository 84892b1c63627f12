"""Runs coroutine functions, as tasks of an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bullrush.base.cancellation import task_starter, was_cancelled
from bullrush.worker.running.plain_calls import PlainCalls
from bullrush.worker.running.runner import give_back, nothing

if TYPE_CHECKING:
    from bullrush._core import CoreWorker, JobRecord


class LoopRunner:
    """Runs coroutine functions, with one task per job or batch, on the loop that runs `serve`.

    Attributes:
        plain: runs the plain functions among the handlers, if there are any.
        runs_on_loop: tells by the name of a job whether it runs as a task; asked only if there is ``plain``.
    """

    plain: PlainCalls | None = None
    runs_on_loop: Callable[[str], bool]

    def __init__(
        self,
        core: CoreWorker,
        process: Callable[[list[JobRecord]], Coroutine[object, object, BaseException | None]],
        slots: int,
        batch_size: int,
    ) -> None:
        self.on_end: Callable[[], None] = nothing
        self.on_error: Callable[[BaseException], None] = nothing
        self._core = core
        self._process = process
        self._slots = slots
        self._batch_size = batch_size
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[asyncio.Task[BaseException | None], list[JobRecord]] = {}
        self._filling = False
        self._exhausted = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop that runs the coroutine functions, once it runs."""
        return self._loop

    async def serve(self) -> None:
        """Run jobs until there are no more."""
        self._loop = loop = asyncio.get_running_loop()
        self._start_task = task_starter(loop)
        self._last = loop.create_future()
        descriptor = self._core.fileno()
        loop.add_reader(descriptor, self._wake)
        try:
            if self.plain is not None:
                self.plain.on_done = lambda: self._on_loop(self._plain_done)
                self.plain.on_error = self.on_error
                self.plain.start()
            self._fill()
            await self._last
        finally:
            # After a cancellation it takes no more jobs.
            self._exhausted = True
            loop.remove_reader(descriptor)
            if self.plain is not None:
                self.plain.end()
            self.on_end()

    def start(self) -> None:
        """Serve on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._serving = self._loop.create_task(self.serve())
        self._serving.add_done_callback(self._served)

    def resize(self, slots: int) -> None:
        """Set how many tasks run at the same time."""
        self._slots = slots
        if self.plain is not None:
            self.plain.resize(slots)
        self._core.set_concurrency(slots * self._batch_size)
        self._on_loop(self._fill)

    def cancel(self, job_id: str, token: str) -> None:
        """Cancel the task of a job; the task of a batch only if all its jobs are cancelled."""
        self._on_loop(self._cancel, job_id, token)

    def stop_starting(self) -> None:
        """Do nothing: tasks start at once."""

    def cancel_all(self) -> None:
        """Cancel all tasks: the worker's deadline to close has passed."""
        self._on_loop(self._cancel_all)

    def unfinished(self) -> list[JobRecord]:
        """Return the jobs of all tasks, and of the threads of plain functions, without those that have an outcome."""
        on_loop = [record for records in list(self._tasks.values()) for record in records if not record.settled]
        return on_loop + ([] if self.plain is None else self.plain.unfinished())

    def running_in(self, task: asyncio.Task[Any] | None) -> list[JobRecord]:
        """Return the jobs that a task runs; if it is not one of the tasks for jobs, those of all."""
        tasks = self._tasks.copy()
        return [record for records in ([tasks[task]] if task in tasks else tasks.values()) for record in records]

    def join(self) -> None:
        """Wait for the threads of plain functions. `on_end` was called after the last task."""
        if self.plain is not None:
            self.plain.join()

    def is_current(self) -> bool:
        """Tell whether the caller is a handler."""
        if self.plain is not None and self.plain.is_current():
            return True
        try:
            return asyncio.current_task() in self._tasks
        except RuntimeError:
            return False

    def is_lost(self, *, at_exit: bool = False) -> bool:
        """Tell whether the loop is closed; with ``at_exit``, whether it is not running."""
        loop = self._loop
        return loop is not None and (loop.is_closed() or (at_exit and not loop.is_running()))

    def give_back(self) -> None:
        """Give back the jobs of all tasks, since the loop is gone. Threads finish theirs."""
        if self.plain is not None:
            self.plain.end()
        for records in list(self._tasks.values()):
            give_back(self._core, records)

    def _served(self, serving: asyncio.Task[None]) -> None:
        if not serving.cancelled() and (error := serving.exception()) is not None:
            self.on_error(error)

    def _on_loop(self, function: Callable[..., None], *arguments: object) -> None:
        # A closed loop has no tasks.
        with contextlib.suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(function, *arguments)

    def _wake(self) -> None:
        # Rearm before taking: a job that comes in between makes the descriptor readable again.
        self._core.rearm()
        self._fill()

    def _fill(self) -> None:
        self._filling = False
        while not self._exhausted and (free := self._slots - self._busy()) > 0:
            records = self._core.take(free if self._batch_size == 1 else self._batch_size, 0)
            if records is None:
                self._exhausted = True
            elif not records:
                return
            elif self._batch_size == 1:
                for record in records:
                    self._spawn([record])
            else:
                self._spawn(records)
        if self._exhausted and not self._busy() and not self._last.done():
            self._last.set_result(None)

    def _busy(self) -> int:
        return len(self._tasks) + (0 if self.plain is None else self.plain.running)

    def _spawn(self, records: list[JobRecord]) -> None:
        if self.plain is not None and not self.runs_on_loop(records[0].name):
            self.plain.submit(records)
            return
        task = self._start_task(self._process(records))
        self._tasks[task] = records
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[BaseException | None]) -> None:
        records = self._tasks.pop(task)
        try:
            end = task.result()
        except asyncio.CancelledError:  # before the task started
            give_back(self._core, records)
        except BaseException as error:
            give_back(self._core, records)
            self.on_error(error)
        else:
            if end is not None:
                self.on_error(end)
        if not self._filling:
            self._fill_soon()

    def _plain_done(self) -> None:
        assert self.plain is not None
        self.plain.running -= 1
        self._fill_soon()

    def _fill_soon(self) -> None:
        # Take jobs once for all that end in this iteration of the loop.
        if not self._filling and self._loop is not None:
            self._filling = True
            self._loop.call_soon(self._fill)

    def _cancel(self, job_id: str, token: str) -> None:
        for task, records in list(self._tasks.items()):
            here = any(record.id == job_id and token in {None, record.token} for record in records)
            if here and all(record.cancelled for record in records) and not was_cancelled(task):
                task.cancel()

    def _cancel_all(self) -> None:
        for task in list(self._tasks):
            task.cancel()


class LoopThreadRunner(LoopRunner):
    """Runs coroutine functions on its own event loop, on its own thread.

    Attributes:
        lifespan: makes the block around all jobs of the run.
    """

    lifespan: Callable[[], contextlib.AbstractAsyncContextManager[None]] = contextlib.nullcontext

    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread and its loop."""
        self._ready = threading.Event()
        thread = threading.Thread(target=self._run, name="bullrush-loop", daemon=False)
        thread.start()
        self._thread = thread
        self._ready.wait()

    def join(self) -> None:
        """Wait until the loop has ended."""
        if self._thread is not None:
            self._thread.join()
        super().join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve_when_ready())
        except BaseException as error:
            self.on_error(error)
        finally:
            self._ready.set()

    async def _serve_when_ready(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_default_executor(_Threads(thread_name_prefix="asyncio"))
        self._ready.set()
        async with self.lifespan():
            await self.serve()


class _Threads(ThreadPoolExecutor):
    """The threads of `asyncio.to_thread`.

    The end of a loop waits for them, without limit before Python 3.12. A job that has timed out may have left a call in
    one.
    """

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Let the threads end; do not wait for them."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)
