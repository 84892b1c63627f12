"""Where handlers run: on threads, or as tasks of an event loop. Both take jobs from the core until there are no more."""

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

#: How long an idle thread waits in one go; the end of the run wakes it sooner.
_WAIT_MS: Final = 5_000


class Runner(Protocol):
    """Runs handlers until the core has no more jobs, then calls ``ended``. ``broke`` gets what ends the run before."""

    ended: Callable[[], None]
    broke: Callable[[BaseException], None]

    def start(self) -> None:
        """Start taking jobs."""

    def resize(self, slots: int) -> None:
        """Run so many jobs, or batches, at a time."""

    def cancel(self, job_id: str, token: str | None) -> None:
        """Stop the handler of a job, under whatever token if that is None, and if a running function can be stopped."""

    def cancel_all(self) -> None:
        """Stop all jobs that still run: the worker's deadline to close has passed."""

    def join(self) -> None:
        """Wait until the last handler has returned."""

    def is_current(self) -> bool:
        """Tell whether a handler asks."""

    def is_lost(self, *, at_exit: bool = False) -> bool:
        """Tell whether nobody will run the handlers on; ``at_exit``: from now on."""

    def give_back(self) -> None:
        """Give back all jobs that still run: nobody will run them on."""


class ThreadRunner:
    """Runs plain functions: one thread per slot. The core decides whom to wake, so fast handlers share one thread."""

    def __init__(
        self,
        core: CoreWorker,
        process: Callable[[list[JobRecord]], BaseException | None],
        slots: int,
        batch_size: int,
        name: str,
    ) -> None:
        self.ended: Callable[[], None] = _nothing
        self.broke: Callable[[BaseException], None] = _nothing
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
        """Start what is missing. Threads beyond ``slots`` stay and idle: the core hands out no more jobs than slots."""
        with self._lock:
            while len(self._threads) < slots:
                # Not daemons: a handler is not cut off in mid-job when the interpreter exits.
                thread = threading.Thread(target=self._work, name=f"{self._name}-{len(self._threads)}", daemon=False)
                self._alive += 1
                try:
                    thread.start()
                except BaseException:  # the system has no more threads, or no memory for one
                    self._alive -= 1
                    raise
                self._threads.append(thread)

    def cancel(self, job_id: str, token: str | None) -> None:
        """Do nothing: a thread cannot be stopped; its job's ``cancelled`` tells the handler."""

    def cancel_all(self) -> None:
        """Do nothing; see `cancel`."""

    def join(self) -> None:
        """Wait until the last handler has returned."""
        for thread in self._threads:
            thread.join()

    def is_current(self) -> bool:
        """Tell whether a handler asks."""
        return threading.current_thread() in self._threads

    def is_lost(self, *, at_exit: bool = False) -> bool:  # noqa: ARG002 - for loops
        """Return False: the interpreter waits for its threads."""
        return False

    def give_back(self) -> None:
        """Do nothing; see `is_lost`."""

    def _work(self) -> None:
        take, process, batch_size = self._core.take, self._process, self._batch_size
        records: list[JobRecord] | None = None
        try:
            while (records := take(batch_size, _WAIT_MS)) is not None:
                if (end := process(records)) is not None:
                    self.broke(end)
        except BaseException as error:
            _give_back(self._core, records or ())
            self.broke(error)
        finally:
            with self._lock:
                self._alive -= 1
                last = self._alive == 0
            if last:
                self.ended()


class LoopRunner:
    """Runs coroutine functions: one task per job, or per batch, on the loop that runs `serve`."""

    def __init__(
        self,
        core: CoreWorker,
        process: Callable[[list[JobRecord]], Coroutine[object, object, BaseException | None]],
        slots: int,
        batch_size: int,
    ) -> None:
        self.ended: Callable[[], None] = _nothing
        self.broke: Callable[[BaseException], None] = _nothing
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
            # Cancelled, it takes no more: nobody would run it.
            self._exhausted = True
            loop.remove_reader(descriptor)
            self.ended()

    def start(self) -> None:
        """Serve on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._serving = self._loop.create_task(self.serve())

    def resize(self, slots: int) -> None:
        """Run so many tasks at a time."""
        self._slots = slots
        self._on_loop(self._fill)

    def cancel(self, job_id: str, token: str | None) -> None:
        """Cancel the task of a job, and that of a batch if none of its jobs is left."""
        self._on_loop(self._cancel, job_id, token)

    def cancel_all(self) -> None:
        """Cancel all tasks: the worker's deadline to close has passed."""
        self._on_loop(self._cancel_all)

    def join(self) -> None:
        """Do nothing: the loop goes on, and `ended` was called after the last task."""

    def is_current(self) -> bool:
        """Tell whether a handler asks."""
        try:
            return asyncio.current_task() in self._tasks
        except RuntimeError:
            return False

    def is_lost(self, *, at_exit: bool = False) -> bool:
        """Tell whether the loop is gone, or stands still while the program ends."""
        loop = self._loop
        return loop is not None and (loop.is_closed() or (at_exit and not loop.is_running()))

    def give_back(self) -> None:
        """Give back the jobs of all tasks: the loop will not run them on."""
        for records in list(self._tasks.values()):
            _give_back(self._core, records)

    def _on_loop(self, function: Callable[..., None], *arguments: object) -> None:
        # A loop that has closed has no task left to change.
        with contextlib.suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(function, *arguments)

    def _wake(self) -> None:
        # First rearm, then take: what comes in between makes the descriptor readable again.
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
        except asyncio.CancelledError:  # before it began
            _give_back(self._core, records)
        except BaseException as error:
            _give_back(self._core, records)
            self.broke(error)
        else:
            if end is not None:
                self.broke(end)
        # One round of taking for all tasks that end in this turn of the loop.
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
    """Runs coroutine functions on an event loop of its own, on a thread of its own."""

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
            asyncio.run(self._announce_and_serve())
        except BaseException as error:
            self.broke(error)
        finally:
            self._ready.set()

    async def _announce_and_serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        await self.serve()


def _give_back(core: CoreWorker, records: Iterable[JobRecord]) -> None:
    """Give back the jobs among these that have no outcome."""
    for record in records:
        with contextlib.suppress(ClosedError):
            core.give_back(record)


def _nothing(_error: BaseException | None = None) -> None:
    pass
