"""Runners take jobs from the core and run handlers on them, on threads or as tasks of an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Final, Protocol

from bullrush.base.cancellation import new_task, was_cancelled
from bullrush.errors import ClosedError

if TYPE_CHECKING:
    from bullrush._core import CoreWorker, JobRecord

#: How long one wait of an idle thread lasts. The end of the run wakes it.
_WAIT_MS: Final = 5_000


class Runner(Protocol):
    """Runs handlers until the core has no more jobs, then calls ``on_end``.

    ``on_error`` gets an exception that ends the run.
    """

    on_end: Callable[[], None]
    on_error: Callable[[BaseException], None]

    def start(self) -> None:
        """Start taking jobs."""

    def resize(self, slots: int) -> None:
        """Set how many jobs, or batches, run at the same time."""

    def cancel(self, job_id: str, token: str | None) -> None:
        """Stop the handler of a job, if it can be stopped. If a token is given, only a handler that runs under it."""

    def cancel_all(self) -> None:
        """Stop all running handlers: the worker's deadline to close has passed."""

    def join(self) -> None:
        """Wait until the last handler has returned."""

    def is_current(self) -> bool:
        """Tell whether the caller is a handler."""

    def is_lost(self, *, at_exit: bool = False) -> bool:
        """Tell whether the running handlers cannot continue; with ``at_exit``, when the program ends now."""

    def give_back(self) -> None:
        """Give back the jobs of all handlers, since they cannot continue."""


class ThreadRunner:
    """Runs plain functions, with one thread per slot.

    The core decides which thread to wake: fast handlers share one thread.
    """

    def __init__(
        self,
        core: CoreWorker,
        process: Callable[[list[JobRecord]], BaseException | None],
        slots: int,
        batch_size: int,
        name: str,
    ) -> None:
        self.on_end: Callable[[], None] = _nothing
        self.on_error: Callable[[BaseException], None] = _nothing
        self._core = core
        self._process = process
        self._slots = slots
        self._batch_size = batch_size
        self._name = name
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._alive = 0

    def start(self) -> None:
        """Start all threads."""
        self.resize(self._slots)

    def resize(self, slots: int) -> None:
        """Start missing threads. Threads beyond ``slots`` stay idle: the core gives out no more jobs than slots."""
        with self._lock:
            while len(self._threads) < slots:
                # Not daemons: the interpreter would stop daemon threads in the middle of a job.
                thread = threading.Thread(target=self._work, name=f"{self._name}-{len(self._threads)}", daemon=False)
                self._alive += 1
                try:
                    thread.start()
                except BaseException:  # the system has no more threads or memory
                    self._alive -= 1
                    raise
                self._threads.append(thread)

    def cancel(self, job_id: str, token: str | None) -> None:
        """Do nothing: a thread cannot be stopped. The handler sees ``job.cancelled``."""

    def cancel_all(self) -> None:
        """Do nothing; see `cancel`."""

    def join(self) -> None:
        """Wait until the last handler has returned."""
        for thread in self._threads:
            thread.join()

    def is_current(self) -> bool:
        """Tell whether the caller is a handler."""
        return threading.current_thread() in self._threads

    def is_lost(self, *, at_exit: bool = False) -> bool:  # noqa: ARG002 - for loops
        """Return False: threads always continue."""
        return False

    def give_back(self) -> None:
        """Do nothing; see `is_lost`."""

    def _work(self) -> None:
        take, process, batch_size = self._core.take, self._process, self._batch_size
        records: list[JobRecord] | None = None
        try:
            while (records := take(batch_size, _WAIT_MS)) is not None:
                if (end := process(records)) is not None:
                    self.on_error(end)
        except BaseException as error:
            _give_back(self._core, records or ())
            self.on_error(error)
        finally:
            with self._lock:
                self._alive -= 1
                last = self._alive == 0
            if last:
                self.on_end()


class LoopRunner:
    """Runs coroutine functions, with one task per job or batch, on the loop that runs `serve`."""

    def __init__(
        self,
        core: CoreWorker,
        process: Callable[[list[JobRecord]], Coroutine[object, object, BaseException | None]],
        slots: int,
        batch_size: int,
    ) -> None:
        self.on_end: Callable[[], None] = _nothing
        self.on_error: Callable[[BaseException], None] = _nothing
        self._core = core
        self._process = process
        self._slots = slots
        self._batch_size = batch_size
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[asyncio.Task[BaseException | None], list[JobRecord]] = {}
        self._filling = False
        self._exhausted = False

    async def serve(self) -> None:
        """Run jobs until there are no more."""
        self._loop = loop = asyncio.get_running_loop()
        self._last = loop.create_future()
        descriptor = self._core.fileno()
        loop.add_reader(descriptor, self._wake)
        try:
            self._fill()
            await self._last
        finally:
            # After a cancellation it takes no more jobs.
            self._exhausted = True
            loop.remove_reader(descriptor)
            self.on_end()

    def start(self) -> None:
        """Serve on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._serving = self._loop.create_task(self.serve())

    def resize(self, slots: int) -> None:
        """Set how many tasks run at the same time."""
        self._slots = slots
        self._on_loop(self._fill)

    def cancel(self, job_id: str, token: str | None) -> None:
        """Cancel the task of a job; the task of a batch only if all its jobs are cancelled."""
        self._on_loop(self._cancel, job_id, token)

    def cancel_all(self) -> None:
        """Cancel all tasks: the worker's deadline to close has passed."""
        self._on_loop(self._cancel_all)

    def join(self) -> None:
        """Do nothing: `on_end` was called after the last task."""

    def is_current(self) -> bool:
        """Tell whether the caller is a handler."""
        try:
            return asyncio.current_task() in self._tasks
        except RuntimeError:
            return False

    def is_lost(self, *, at_exit: bool = False) -> bool:
        """Tell whether the loop is closed; with ``at_exit``, whether it is not running."""
        loop = self._loop
        return loop is not None and (loop.is_closed() or (at_exit and not loop.is_running()))

    def give_back(self) -> None:
        """Give back the jobs of all tasks, since the loop is gone."""
        for records in list(self._tasks.values()):
            _give_back(self._core, records)

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
        while not self._exhausted and (free := self._slots - len(self._tasks)) > 0:
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
        if self._exhausted and not self._tasks and not self._last.done():
            self._last.set_result(None)

    def _spawn(self, records: list[JobRecord]) -> None:
        assert self._loop is not None
        task = new_task(self._loop, self._process(records))
        self._tasks[task] = records
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[BaseException | None]) -> None:
        records = self._tasks.pop(task)
        try:
            end = task.result()
        except asyncio.CancelledError:  # before the task started
            _give_back(self._core, records)
        except BaseException as error:
            _give_back(self._core, records)
            self.on_error(error)
        else:
            if end is not None:
                self.on_error(end)
        # Take jobs once for all tasks that end in this iteration of the loop.
        if not self._filling:
            self._filling = True
            task.get_loop().call_soon(self._fill)

    def _cancel(self, job_id: str, token: str | None) -> None:
        for task, records in list(self._tasks.items()):
            here = any(record.id == job_id and token in {None, record.token} for record in records)
            if here and all(record.cancelled for record in records) and not was_cancelled(task):
                task.cancel()

    def _cancel_all(self) -> None:
        for task in list(self._tasks):
            task.cancel()


class LoopThreadRunner(LoopRunner):
    """Runs coroutine functions on its own event loop, on its own thread."""

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

    def _run(self) -> None:
        try:
            asyncio.run(self._serve_when_ready())
        except BaseException as error:
            self.on_error(error)
        finally:
            self._ready.set()

    async def _serve_when_ready(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        await self.serve()


def _give_back(core: CoreWorker, records: Iterable[JobRecord]) -> None:
    """Give back those of these jobs that have no result yet."""
    for record in records:
        with contextlib.suppress(ClosedError):
            core.give_back(record)


def _nothing(_error: BaseException | None = None) -> None:
    pass
