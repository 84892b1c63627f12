"""What runs in the processes of a worker with ``isolation="process"``: the handler, and nothing else of the worker."""

from __future__ import annotations

import asyncio
import os
import pickle
import pkgutil
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import connection, parent_process
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from bullrush.job.failure import INDESCRIBABLE, describe
from bullrush.job.fields import Changes
from bullrush.job.job import AsyncJob, Job
from bullrush.job.record import GivenRecord
from bullrush.queue.queue import Queue
from bullrush.values.encoding import JSON, NULL, encode
from bullrush.worker.handler import is_async, of_job
from bullrush.worker.processor import results_per_job

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class ProcessSetup:
    """What a process needs to know. ``function`` is pickled, or a name like ``module:function``."""

    queue_name: str
    url: str
    prefix: str
    function: bytes | str
    batched: bool


class SentJob(NamedTuple):
    """A job on its way to a process."""

    id: str
    token: str | None
    fields: Mapping[str, bytes]


class Raised(NamedTuple):
    """An exception on its way back: itself if it can be pickled, and what it takes to build one like it."""

    pickled: bytes | None
    kinds: tuple[str, ...]
    text: str
    stack: str


class JobRunResult(NamedTuple):
    """What became of one job: the JSON of its result, or what was raised; and what its handler changed."""

    outcome: bytes | Raised
    changes: Changes


#: A progress on its way to listeners: the job's id, what its handler has changed so far, and the progress.
Progress: TypeAlias = tuple[str, Changes, JSON]


class _SentRecord(GivenRecord):
    """The raw fields of a job that another process holds."""

    __slots__ = ("token",)

    def __init__(self, job: SentJob) -> None:
        super().__init__(job.fields, job.id)
        self.token = job.token


def load(function: bytes | str) -> Callable[..., Any]:
    """Return the function that was pickled or named."""
    loaded: Callable[..., Any] = pkgutil.resolve_name(function) if isinstance(function, str) else pickle.loads(function)
    return loaded


def main(pipe: Connection, setup: ProcessSetup) -> None:
    """Run jobs until the worker hangs up."""
    # The worker decides when its processes end: what a terminal sends to all of them is meant for it. No SIG_IGN, which programs
    # that a handler starts would inherit.
    for number in _SIGNALS:
        signal.signal(number, _ignored)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    threading.Thread(target=_follow_parent, daemon=True).start()
    try:
        call = _caller(setup, pipe)
    except BaseException as error:
        pipe.send(f"{type(error).__name__}: {describe(error, retry=False).reason}")
        return
    pipe.send(None)
    try:
        while True:
            pipe.send(call(pipe.recv()))
    except (EOFError, OSError):
        pass


def _ignored(_number: int, _frame: object) -> None:
    pass


def _follow_parent() -> None:
    """End this process when its worker's is gone, whatever the handler does."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _caller(setup: ProcessSetup, pipe: Connection) -> Callable[[list[SentJob]], list[JobRunResult]]:
    function = load(setup.function) if setup.batched else of_job(load(setup.function))
    queue = Queue(setup.queue_name, url=setup.url, prefix=setup.prefix, skip_metas_update=True)
    queue.on("progress", lambda job, progress: pipe.send((job.id, job.changes, progress)))
    job_type: type[Job | AsyncJob] = Job
    call = function
    if is_async(function):
        loop = asyncio.new_event_loop()
        job_type = AsyncJob
        call = lambda argument: loop.run_until_complete(function(argument))  # noqa: E731

    def run(sent: list[SentJob]) -> list[JobRunResult]:
        jobs: Sequence[Any] = [job_type(_SentRecord(job), queue) for job in sent]
        try:
            values = call(jobs) if setup.batched else [call(jobs[0])]
        except BaseException as error:
            return [_ran(job, _raised(error)) for job in jobs]
        results = results_per_job(values, len(jobs))
        return [_ran(job, _outcome(value)) for value, job in zip(results, jobs, strict=True)]

    return run


def _ran(job: Job | AsyncJob, outcome: bytes | Raised) -> JobRunResult:
    return JobRunResult(outcome, job.changes)


def _outcome(value: Any) -> bytes | Raised:
    if issubclass(type(value), BaseException):
        return _raised(value)
    try:
        return NULL if value is None else encode(value, "returnvalue")
    except BaseException as error:
        return _raised(error)


def _raised(error: BaseException) -> Raised:
    try:
        failure = describe(error, retry=True)
    except BaseException:  # an exception is the user's code
        return Raised(None, ("Exception",), INDESCRIBABLE, "")
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except BaseException:
        pickled = None
    kinds = tuple(kind.__name__ for kind in type(error).__mro__ if kind not in {BaseException, object})
    return Raised(pickled, kinds, failure.reason, failure.stack)
