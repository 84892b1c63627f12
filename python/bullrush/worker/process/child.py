"""The program of a handler process: it gets jobs through a pipe, runs the handler, and sends the results back."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import pickle
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import connection, parent_process
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from bullrush.job.context import RUNNING
from bullrush.job.failure import describe
from bullrush.job.job import AsyncJob, Job
from bullrush.job.owner import Changes
from bullrush.job.record import GivenRecord
from bullrush.queue.queue import Queue
from bullrush.values.encoding import JSON, NULL, encode
from bullrush.worker.handlers.signature import is_async, of_job
from bullrush.worker.process.raised import Raised, raised
from bullrush.worker.processor import results_per_job

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: The message that jobs have arrived, before their handler starts.
TAKEN: Final = "taken"

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class ProcessSetup:
    """The configuration of a handler process. ``function`` is the pickled handler."""

    url: str
    prefix: str
    function: bytes
    batched: bool


class SentJob(NamedTuple):
    """A job, as it is sent to a handler process."""

    id: str
    token: str | None
    queue_name: str
    fields: Mapping[str, bytes]


class JobRunResult(NamedTuple):
    """The result of one job as JSON, or the exception; and what the handler changed on the job."""

    result: bytes | Raised
    changes: Changes


#: The progress of a job, as it is sent back: the job's id and token, what the handler has changed so far, and the
#: progress.
Progress: TypeAlias = tuple[str, str | None, Changes, JSON]


class _SentRecord(GivenRecord):
    """The raw fields of a job that was sent to this process."""

    __slots__ = ("token",)

    def __init__(self, job: SentJob) -> None:
        super().__init__(job.fields, job.id)
        self.token = job.token


def main(pipe: Connection, setup: ProcessSetup) -> None:
    """Run jobs until the worker closes the pipe."""
    # The worker decides when its processes end, so signals of a terminal are ignored here. Not with SIG_IGN, since
    # programs that a handler starts would inherit it.
    for number in _SIGNALS:
        signal.signal(number, _ignored)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    threading.Thread(target=_follow_parent, daemon=True).start()
    if hasattr(os, "register_at_fork"):
        # What a handler forks sends nothing to the worker, and does not keep the pipe open when this process is dead.
        os.register_at_fork(after_in_child=pipe.close)
    pid = os.getpid()
    # The worker is gone, or has closed the pipe: nobody waits for an answer.
    with contextlib.suppress(EOFError, OSError):
        try:
            call = _caller(setup, pipe)
        except BaseException as error:
            pipe.send(f"{type(error).__name__}: {describe(error, retry=False).reason}")
            return
        pipe.send(None)
        while True:
            jobs = pipe.recv()
            pipe.send(TAKEN)  # from here on a death of this process is that of their handler
            results = call(jobs)
            if os.getpid() != pid:  # a fork that the handler made: the pipe is not its own
                os._exit(0)
            pipe.send(results)


def _ignored(_number: int, _frame: object) -> None:
    pass


def _follow_parent() -> None:
    """End this process when the worker's process is gone, whatever the handler does."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _caller(setup: ProcessSetup, pipe: Connection) -> Callable[[list[SentJob]], list[JobRunResult]]:
    handlers = pickle.loads(setup.function)

    @functools.cache
    def queue_of(name: str) -> Queue:
        queue = Queue(name, url=setup.url, prefix=setup.prefix, skip_metas_update=True, allow_legacy=True)
        queue.on("progress", lambda job, progress: pipe.send((job.id, job.token, job._changes, progress)))
        return queue

    calls = {
        name: _blocking(handler if setup.batched else of_job(handler)) for name, handler in _by_name(handlers).items()
    }

    def run(sent: list[SentJob]) -> list[JobRunResult]:
        records = [_SentRecord(job) for job in sent]
        job_type, call = calls.get(records[0].name) or calls[None]
        jobs: Sequence[Any] = [
            job_type(record, queue_of(job.queue_name)) for record, job in zip(records, sent, strict=True)
        ]
        if not setup.batched:
            RUNNING.set(jobs[0])
        try:
            values = call(jobs) if setup.batched else [call(jobs[0])]
        except BaseException as error:
            return [_run_result(job, raised(error)) for job in jobs]
        results = results_per_job(values, len(jobs))
        return [_run_result(job, _encoded(value)) for value, job in zip(results, jobs, strict=True)]

    return run


def _by_name(handlers: Any) -> Mapping[str | None, Callable[..., Any]]:
    """Return handlers by the names of their jobs. A single handler has the name None."""
    return handlers if isinstance(handlers, Mapping) else {None: handlers}


def _blocking(function: Callable[..., Any]) -> tuple[type[Job | AsyncJob], Callable[..., Any]]:
    """Return the class of the jobs that a handler gets, and a function that runs it and waits."""
    if not is_async(function):
        return Job, function
    return AsyncJob, lambda argument: _loop().run_until_complete(function(argument))


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of this process, on which all its coroutine functions run."""
    return asyncio.new_event_loop()


def _run_result(job: Job | AsyncJob, result: bytes | Raised) -> JobRunResult:
    return JobRunResult(result, job._changes)


def _encoded(value: Any) -> bytes | Raised:
    if issubclass(type(value), BaseException):
        return raised(value)
    try:
        return NULL if value is None else encode(value, "returnvalue")
    except BaseException as error:
        return raised(error)
