"""Runs handlers in processes. If one crashes, only its own job fails."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing import connection
from typing import TYPE_CHECKING, Any, Final

from orjson import loads

from bullrush.errors import ClosedError, InvalidOptionError, JobCancelledError, WorkerProcessError
from bullrush.job.job import JobCalls
from bullrush.worker.logs import LOG
from bullrush.worker.process.child import TAKEN, JobRunResult, ProcessSetup, SentJob, main
from bullrush.worker.process.raised import rebuilt
from bullrush.worker.processor import NotStartedError
from bullrush.worker.running.runner import give_back, nothing
from bullrush.worker.running.threads import ThreadRunner

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from bullrush._core import CoreWorker, JobRecord
    from bullrush.job.owner import Changes, JobOwner
    from bullrush.values.encoding import JSON

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
#: Seconds that a process may take to end after its pipe was closed.
_END_SECONDS: Final = 5.0
#: Seconds after which a slot whose process could not start takes a job again.
_RESTART_SECONDS: Final = 1.0
#: How often to look, in seconds, whether a process lives. What tells of its end at once stays silent as long as a
#: process lives that a handler has forked.
_LOOK_SECONDS: Final = 0.5


def pickled_handlers(handlers: Callable[..., Any] | Mapping[str, Callable[..., Any]]) -> bytes:
    """Return a handler, or handlers by name, as a pickle, which a handler process loads.

    Raises:
        InvalidOptionError: a handler cannot be imported by name.
    """
    for function in handlers.values() if isinstance(handlers, Mapping) else [handlers]:
        _check_importable(function)
    return pickle.dumps(handlers)


def _check_importable(function: Callable[..., Any]) -> None:
    module = getattr(function, "__module__", None)
    main_module = sys.modules["__main__"]
    if module == "__main__" and not getattr(main_module, "__file__", None) and not main_module.__spec__:
        raise InvalidOptionError(f"isolation='process' cannot import {function!r} from an interactive session")
    try:
        pickle.dumps(function)
    except Exception as error:
        raise InvalidOptionError(
            "isolation='process' needs a handler that can be imported by name: define it at the top of a module "
            f"({error})"
        ) from None


class HandlerProcess:
    """One handler process, and the jobs that run in it."""

    def __init__(self, setup: ProcessSetup, source: JobOwner, closing: threading.Event) -> None:
        self._setup = setup
        self._source = source
        self._closing = closing
        self._process: BaseProcess | None = None
        self._lock = threading.Lock()
        self._running: set[tuple[str, str | None]] = set()
        self._starts = False

    def start(self) -> None:
        """Start the process if it does not run."""
        if self._process is not None and self._process.is_alive():
            return
        context = multiprocessing.get_context("spawn")
        self._pipe, child_end = context.Pipe()
        # Not a daemon, since daemons cannot start processes. It ends when the pipe is closed.
        process = context.Process(target=main, args=(child_end, self._setup), name="bullrush-handler", daemon=False)
        with _signals_blocked():
            process.start()
        child_end.close()
        with self._lock:
            self._process, self._starts = process, True
            if self._closing.is_set() and not self._running:
                process.kill()
        try:
            self._load_error: str | None = self._receive()
        finally:
            self._starts = False

    def start_first(self) -> None:
        """Start the process for the first time.

        Raises:
            WorkerProcessError: it ended by itself before it could load the handler.
            NotStartedError: the system has killed it, or starts no more processes.
        """
        try:
            self.start_again()
        except NotStartedError as error:
            code = None if self._process is None else self._process.exitcode
            if code is None or code < 0:
                raise
            raise WorkerProcessError(
                f"{error}. Handler processes import the program again: put all that adds jobs or starts workers under"
                " `if __name__ == '__main__':`"
            ) from None

    def start_again(self) -> None:
        """Start the process if it does not run.

        Raises:
            NotStartedError: it ended before it could load the handler, or the system starts no more processes.
        """
        try:
            self.start()
        except EOFError:
            raise NotStartedError(f"A handler process ended before it was ready ({self._exit_message()})") from None
        except OSError as error:
            raise NotStartedError(f"A handler process cannot start: {error}") from None

    def run(self, jobs: list[JobCalls]) -> list[Any]:
        """Run jobs and return their results or exceptions.

        A start can take seconds. Jobs that are all cancelled or lost meanwhile are not sent to the process.
        """
        crash: BaseException
        with self._lock:
            self._running = {(job.id, job.token) for job in jobs if not job.cancelled}
        try:
            self._give(jobs)
            while isinstance(received := self._receive(), tuple):
                self._report_progress(jobs, *received)
            return [_value(ran, job) for ran, job in zip(received, jobs, strict=True)]
        except (JobCancelledError, NotStartedError) as error:
            crash = error
        except (EOFError, OSError):
            crash = WorkerProcessError(self._exit_message())
        except WorkerProcessError as error:
            self.end()
            crash = error
        finally:
            with self._lock:
                self._running = set()
        return [JobCancelledError(job.cancel_reason) if job.cancel_reason else crash for job in jobs]

    def _give(self, jobs: list[JobCalls]) -> None:
        """Send jobs to the process; if it dies before it takes them, as an idle one may, to the next one."""
        try:
            self._send(jobs)
        except (EOFError, OSError):
            if self._closing.is_set():
                raise NotStartedError("A handler process ended before it took its jobs") from None
            self.end()
            self._send(jobs)

    def _send(self, jobs: list[JobCalls]) -> None:
        self.start_again()
        if self._load_error is not None:
            raise WorkerProcessError(f"The handler cannot be loaded in its process: {self._load_error}")
        with self._lock:
            if not self._running:
                raise JobCancelledError("the worker no longer holds the job")
        self._pipe.send([_sent(job) for job in jobs])
        if self._receive() != TAKEN:
            raise EOFError

    def _report_progress(
        self, jobs: list[JobCalls], job_id: str, token: str | None, changes: Changes, progress: JSON
    ) -> None:
        for job in jobs:
            if (job.id, job.token) == (job_id, token):
                job._apply_changes(changes)
                self._source._report_progress(job, progress)

    def _receive(self) -> Any:
        """Return the next message.

        Raises:
            EOFError: the process has ended.
        """
        assert self._process is not None
        signs: list[Connection[Any, Any] | int] = [self._pipe, self._process.sentinel]
        while not (ready := connection.wait(signs, _LOOK_SECONDS)) and self._process.is_alive():
            pass
        if self._pipe not in ready and not self._pipe.poll():
            raise EOFError
        return self._pipe.recv()

    def _exit_message(self) -> str:
        """Return how the process ended, in BullMQ's words."""
        assert self._process is not None
        self._pipe.close()
        self._await_end()
        code = self._process.exitcode
        if code is not None and code < 0:
            return f"Unexpected exit code: null signal: {signal.Signals(-code).name}"
        return f"Unexpected exit code: {'null' if code is None else code} signal: null"

    def kill(self, job_id: str, token: str | None) -> None:
        """Kill the process if no job but this one runs in it."""
        with self._lock:
            cancelled = {job for job in self._running if job[0] == job_id and token in {None, job[1]}}
            self._running -= cancelled
            if cancelled and not self._running and self._process is not None:
                self._process.kill()

    def kill_running(self) -> None:
        """Kill the process if a job runs in it."""
        with self._lock:
            if self._running and self._process is not None:
                self._process.kill()

    def kill_starting(self) -> None:
        """Kill the process if it starts and has no job."""
        with self._lock:
            if self._starts and not self._running and self._process is not None:
                self._process.kill()

    def end(self) -> None:
        """Close the pipe and wait for the end of the process."""
        if self._process is None:
            return
        self._pipe.close()
        self._await_end()
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process = None

    def _await_end(self) -> None:
        assert self._process is not None
        until = time.monotonic() + _END_SECONDS
        while self._process.is_alive() and time.monotonic() < until:
            self._process.join(_LOOK_SECONDS / 10)


class HandlerProcesses:
    """The handler processes of a worker, one for each of its threads."""

    def __init__(self, setup: ProcessSetup, source: JobOwner) -> None:
        self._setup = setup
        self._source = source
        self._by_thread: dict[threading.Thread, HandlerProcess] = {}
        #: The worker closes: only jobs that were taken get processes.
        self._closing = threading.Event()
        #: How many start for the first time, and whether one was ready: then the program can be started.
        self._starting = 0
        self._ready = False
        self._changed = threading.Condition()
        #: The threads whose processes run.
        self._in: set[threading.Thread] = set()
        #: Called by a thread whose process runs, for the first time or again; and by one whose process cannot start.
        self.on_in: Callable[[], None] = nothing
        self.on_out: Callable[[], None] = nothing

    @contextlib.contextmanager
    def started(self) -> Iterator[None]:
        """Keep a process for this thread inside the block."""
        child = self._by_thread[threading.current_thread()] = HandlerProcess(self._setup, self._source, self._closing)
        try:
            if not self._ready and not self._closing.is_set():
                self._start_first(child)
            self.replace_dead()
            yield
        finally:
            child.end()

    def _start_first(self, child: HandlerProcess) -> None:
        """Start a process for the first time.

        Raises:
            WorkerProcessError: it ended by itself, and so did all others: the program cannot be started. One that the
                system has killed can be tried again.
        """
        failed: WorkerProcessError | NotStartedError | None = None
        ready = False
        with self._changed:
            self._starting += 1
        try:
            child.start_first()
            ready = True
        except (WorkerProcessError, NotStartedError) as error:
            failed = error
        finally:
            with self._changed:
                self._starting -= 1
                self._ready |= ready
                self._changed.notify_all()
        if isinstance(failed, WorkerProcessError):
            with self._changed:
                self._changed.wait_for(lambda: self._ready or not self._starting)
            if not self._ready and not self._closing.is_set():
                raise failed

    def replace_dead(self) -> None:
        """Start the process of this thread again if it has died, before the next job.

        As long as it cannot start, the core fetches no jobs for its slot.
        """
        thread = threading.current_thread()
        try:
            while not self._closing.is_set():
                try:
                    self._by_thread[thread].start_again()
                    break
                except NotStartedError as error:
                    if self._closing.is_set():
                        break
                    self._in.discard(thread)
                    self.on_out()
                    report = WorkerProcessError(f"{error}. Its slot runs no jobs until it starts; next try in 1 s")
                    LOG.error("%r: %s", self._source, report)
                    self._source.emit("error", report)
                self._closing.wait(_RESTART_SECONDS)
        finally:
            if thread not in self._in:
                self._in.add(thread)
                self.on_in()

    @property
    def ready(self) -> int:
        """How many slots have processes that run."""
        return len(self._in)

    def run_one(self, job: JobCalls) -> JSON:
        """Run a job in the process of this thread."""
        (value,) = self.run_many([job])
        if isinstance(value, BaseException):
            raise value
        return value

    def run_many(self, jobs: list[JobCalls]) -> list[JSON]:
        """Run a batch of jobs in the process of this thread."""
        return self._by_thread[threading.current_thread()].run(jobs)

    def kill(self, job_id: str, token: str | None) -> None:
        """Kill the process of a job; see `HandlerProcess.kill`."""
        for child in list(self._by_thread.values()):
            child.kill(job_id, token)

    def stop_starting(self) -> None:
        """Start processes for jobs only, and kill those that start and have none."""
        self._closing.set()
        for child in list(self._by_thread.values()):
            child.kill_starting()

    def kill_running(self) -> None:
        """Kill all processes that run jobs, and start no new ones."""
        self._closing.set()
        for child in list(self._by_thread.values()):
            child.kill_running()


class ProcessRunner(ThreadRunner):
    """Runs handlers in processes: one process per slot, and one thread that waits for it."""

    def __init__(
        self,
        core: CoreWorker,
        process: Callable[[list[JobRecord]], BaseException | None],
        *,
        slots: int,
        batch_size: int,
        name: str,
        children: HandlerProcesses,
    ) -> None:
        super().__init__(core, self._process_safely, slots, batch_size, name)
        self._process_here = process
        self._children = children
        children.on_in = self._set_concurrency
        children.on_out = self._leave_jobs
        self._counting = threading.Lock()
        self._set_concurrency()

    def resize(self, slots: int) -> None:
        """Start missing threads, each with a process. A slot takes jobs once its process runs."""
        self._slots = slots
        self.start_threads(slots)
        self._set_concurrency()

    def _set_concurrency(self) -> None:
        with self._counting, contextlib.suppress(ClosedError):
            self._core.set_concurrency(min(self._slots, self._children.ready) * self._batch_size)

    def _leave_jobs(self) -> None:
        """Leave the jobs of a slot whose process cannot start to others."""
        self._set_concurrency()
        with contextlib.suppress(ClosedError):
            # A job may be on its way to this slot. Slots that are free have taken theirs.
            if late := self._core.take(self._batch_size, 0):
                give_back(self._core, late)

    def _process_safely(self, records: list[JobRecord]) -> BaseException | None:
        end = self._process_here(records)
        self._children.replace_dead()
        return end

    def cancel(self, job_id: str, token: str) -> None:
        """Kill the process of a job; the process of a batch only if all its jobs are cancelled."""
        self._children.kill(job_id, token)

    def stop_starting(self) -> None:
        """Kill processes that start and have no job."""
        self._children.stop_starting()

    def cancel_all(self) -> None:
        """Kill all processes that run jobs."""
        self._children.kill_running()

    def _work(self, number: int) -> None:
        try:
            with self._children.started():
                super()._work(number)
        except BaseException as error:
            self.on_error(error)


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block signals while a process starts. It inherits this, and unblocks them when its handlers are set."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _sent(job: JobCalls) -> SentJob:
    record: JobRecord = job._record  # type: ignore[assignment]
    return SentJob(job.id, job.token, job.queue_name, record.fields())


def _value(ran: JobRunResult, job: JobCalls) -> Any:
    job._apply_changes(ran.changes)
    return loads(ran.result) if isinstance(ran.result, bytes) else rebuilt(ran.result)
