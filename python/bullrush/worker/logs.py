"""What a worker writes to the log: one line per event, with fields in ``extra``, and never the data of a job."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

from orjson import dumps, loads

from bullrush._core import __version__, now_ms
from bullrush.job.failure import traceback_from_handler
from bullrush.rights import lacks
from bullrush.url import address, user_of
from bullrush.values.options import declared
from bullrush.worker.options import WorkerOptions

if TYPE_CHECKING:
    from bullrush.job.job import JobCalls

LOG: Final = logging.getLogger("bullrush.worker")
_LONGEST_REASON: Final = 300
#: More slots than this are seldom meant for threads or processes.
_MANY_SLOTS: Final = 100
#: The most ids in one line.
_MOST_IDS: Final = 20


def logs_failures() -> bool:
    """Tell whether failed attempts are logged at all."""
    return LOG.isEnabledFor(logging.ERROR)


def log_start(worker: Any, url: str, concurrency: int) -> None:
    """Log that a run works: its server can be reached, and has a queue for it."""
    LOG.info(
        "%s works on queue %r at %s: concurrency %d%s, bullrush %s",
        worker.worker_name,
        worker._shown_queues,
        address(url),
        concurrency,
        "" if worker.profile is None else f", profile {dumps(worker.profile).decode()}",
        __version__,
        extra={"queue": worker._shown_queues},
    )


def log_without_effect(worker: Any, settings: Any) -> None:
    """Log which options do nothing: they are for workers of several queues, or for those that scan."""
    given = [name for name in ("strict", "share_rate_limit") if settings.profile is None and getattr(settings, name)]
    for name in given:
        LOG.warning(
            "%s=True has no effect: the worker of queue %r has no profile, so it serves no routes",
            name,
            worker._shown_queues,
            extra={"queue": worker._shown_queues},
        )
    if settings.claim != "scan" and settings.scan_depth != declared(WorkerOptions)["scan_depth"].default:
        LOG.warning(
            "scan_depth=%d has no effect: the worker of queue %r does not scan, since it has no claim='scan'",
            settings.scan_depth,
            worker._shown_queues,
            extra={"queue": worker._shown_queues},
        )


def log_many_slots(worker: Any, concurrency: int) -> None:
    """Log that so many slots slow each other down: plain functions have a thread each, or a process."""
    in_processes = worker._settings.isolation == "process"
    if concurrency <= _MANY_SLOTS or not (in_processes or worker._handlers.plain):
        return
    what = "handler processes" if in_processes else "threads of Python, of which one runs at a time"
    advice = "give them to several machines" if in_processes else "use coroutine functions, or more processes (-p)"
    LOG.warning(
        "concurrency=%d: the worker of queue %r may have so many %s. Above %d slots %s",
        concurrency,
        worker._shown_queues,
        what,
        _MANY_SLOTS,
        advice,
        extra={"queue": worker._shown_queues},
    )


def missing_rights_text(worker: Any, missing: Sequence[str]) -> str:
    """Return which rights the user of a worker's URL lacks."""
    return lacks(missing, "worker", user_of(worker._url))


def log_rights(worker: Any, missing: list[str]) -> None:
    """Log which rights the user of the URL lacks, and once more when it has them."""
    if missing:
        text = f"{missing_rights_text(worker, missing)}. Until then calls fail, and the worker tries again"
    else:
        text = "the user of the URL has all rights that a worker needs now"
    LOG.warning("%r: %s", worker, text, extra={"queue": worker._shown_queues})


def log_never_ran(worker: Any) -> None:
    """Log that a worker with a handler is closed, and nobody has let it run."""
    LOG.warning(
        "%r: this worker never ran: call run(), or give autorun=True", worker, extra={"queue": worker._shown_queues}
    )


def log_close(worker: Any, counts: dict[str, int], left: dict[str, list[str]]) -> None:
    """Log that a run has ended, and which jobs of which queue it has left: it was closed by force, or out of time."""
    for queue, ids in left.items():
        shown = ids[:_MOST_IDS]
        LOG.warning(
            "%s left %d unfinished %s of queue %r, which any worker runs again: at once if they could be given back, "
            "else when their locks have expired: %s%s",
            worker.worker_name,
            len(ids),
            "job" if len(ids) == 1 else "jobs",
            queue,
            ", ".join(shown),
            ", ..." if len(ids) > len(shown) else "",
            extra={"queue": queue, "job_ids": shown},
        )
    LOG.info(
        "%s stopped working on queue %r: %d completed, %d failed, %d retried",
        worker.worker_name,
        worker._shown_queues,
        counts["completed"],
        counts["failed"],
        counts["retried"],
        extra={"queue": worker._shown_queues},
    )


def log_retrying(job: JobCalls, reason: str, next_run_at: int) -> None:
    """Log that an attempt failed and that the job will run again. The job has the state after the attempt."""
    if LOG.isEnabledFor(logging.WARNING):
        fields = _fields(job, now_ms())
        LOG.warning(
            "Job %s %r of queue %r: attempt %d failed after %s ms and runs again at %s: %s",
            *fields.values(),
            _time(next_run_at),
            _short(reason),
            extra={**fields, "next_run_at": next_run_at},
        )


def log_failed(job: JobCalls, reason: str, error: BaseException | None, stacktrace: bytes) -> None:
    """Log that a job failed for good, with the traceback of its exception."""
    fields = _fields(job, job.finished_on)
    text = "Job %s %r of queue %r: attempt %d failed for good after %s ms: %s"
    arguments = (*fields.values(), _short(reason))
    try:
        if error is not None and (trace := traceback_from_handler(error)) is not None:
            # A formatter does the same. It runs user code, and a lone surrogate can be written to no file.
            "".join(traceback.format_exception(type(error), error, trace)).encode()
            LOG.error(text, *arguments, extra=fields, exc_info=(type(error), error, trace))
            return
    except BaseException:
        pass
    LOG.error(f"{text}%s", *arguments, _last_stack(stacktrace), extra=fields)


def _fields(job: JobCalls, ended: int | None) -> dict[str, Any]:
    began = job.processed_on
    ms = None if began is None or ended is None else max(0, ended - began)
    return {
        "job_id": job.id,
        "job_name": job.name,
        "queue": job.queue_name,
        "attempt": job.attempts_made,
        "ms": ms,
    }


def _time(milliseconds: int) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):  # a delay may be longer than calendars
        return f"{milliseconds} ms"


def _short(reason: str) -> str:
    """Return the first line of a reason."""
    line = "".join(reason.splitlines()[:1])
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}..."


def _last_stack(stacktrace: bytes) -> str:
    stacks = loads(stacktrace or b"[]")
    return f"\n{stacks[-1]}" if stacks else ""
