"""The handler of every test worker of ours: does what the job's own data says, like node/scripted.js."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from bullrush import Job, aio, errors

#: Never set: a handler that waits for it holds its job until the process dies.
_NEVER = threading.Event()


def now() -> int:
    return time.time_ns() // 1_000_000


def run_of(job: Any) -> list[list[Any]] | None:
    """Return the actions of this start of the job, None if the data holds none."""
    runs = job.data.get("runs") if isinstance(job.data, dict) else None
    return None if runs is None else runs[min(job.attempts_started, len(runs)) - 1]


def scripted(rate_limit: Callable[[int], None] | None = None) -> Callable[[Job], Any]:
    """Return the handler; ``rate_limit`` is the queue's, for jobs that limit it."""

    def work(job: Job) -> Any:
        run = run_of(job)
        if run is None:
            return job.data
        for action, *argument in run:
            match action, *argument:
                case ["return", value]:
                    return value
                case ["progress", value]:
                    job.update_progress(value)
                case ["log", row]:
                    job.log(row)
                case ["update_data", data]:
                    job.update_data({**job.data, **data})
                case ["sleep", ms]:
                    time.sleep(ms / 1000)
                case ["hold"]:
                    _NEVER.wait()
                case ["throw", message]:
                    raise RuntimeError(message)
                case ["unrecoverable", message]:
                    raise errors.UnrecoverableError(message)
                case ["delay", ms]:
                    job.move_to_delayed(now() + ms)
                    raise errors.DelayedError
                case ["wait"]:
                    job.move_to_wait()
                    raise errors.WaitingError
                case ["rate_limit", ms]:
                    assert rate_limit is not None
                    rate_limit(ms)
                    raise errors.RateLimitError
                case _:
                    raise AssertionError(f"unknown action {action}")
        return None

    return work


async def scripted_async(job: "aio.Job") -> Any:
    """Do the same as a coroutine, for the actions that need no thread."""
    for action, *argument in run_of(job) or [["return", job.data]]:
        match action, *argument:
            case ["return", value]:
                return value
            case ["progress", value]:
                await job.update_progress(value)
            case ["log", row]:
                await job.log(row)
            case ["sleep", ms]:
                await asyncio.sleep(ms / 1000)
            case ["throw", message]:
                raise RuntimeError(message)
            case _:
                raise AssertionError(f"unknown action {action}")
    return None
