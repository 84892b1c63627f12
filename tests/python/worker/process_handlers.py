"""Handlers for the process runner, with everything that can go wrong in a child process."""

import asyncio
import ctypes
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import httpx

from bullrush import Job, aio, errors


class OddError(Exception):
    """Cannot be unpickled: it needs two arguments and keeps one."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one)
        self.two = two


class UnreachableError(ConnectionError):
    """Its constructor takes other arguments than its text."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(f"{host}:{port}")
        self.host = host


class DescribedError(ConnectionError):
    """Its text needs an attribute that cannot be sent."""

    def __init__(self, one: str, two: str) -> None:
        self.about = lambda: f"{one} and {two}"

    def __str__(self) -> str:
        return self.about()


def raise_odd(job: Job) -> None:
    """Raise an exception that its constructor cannot make again."""

    class LocalError(UnreachableError):
        pass

    if job.data == "library":
        request = httpx.Request("GET", "http://here")
        raise httpx.HTTPStatusError("503", request=request, response=httpx.Response(503, request=request))
    raise {"own": UnreachableError, "local": LocalError, "text": DescribedError}[job.data]("redis", 1)


def act(job: Job) -> Any:
    match job.data:
        case {"return": value}:
            return value
        case "pid":
            return os.getpid()
        case "calls":
            job.update_progress(50)
            job.log("half way")
            job.update_data({"new": job.get_children_values()})
            return [job.id, job.name, job.attempts_started, job.queue_name, job.processed_by]
        case "segfault":
            ctypes.string_at(0)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            os._exit(3)
        case {"fork, then": end}:
            if (forked := os.fork()) == 0:
                time.sleep(60)
                os._exit(0)
            job.log(str(forked))
            if end == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)
        case "raise":
            raise ValueError("boom")
        case "odd":
            raise OddError("one", "two")
        case "unrecoverable":
            raise errors.UnrecoverableError("never")
        case "discard":
            job.discard()
            raise ValueError("discarded")
        case "delay" if job.attempts_started == 1:
            job.move_to_delayed(job.timestamp + 50)
            raise errors.DelayedError
        case "not json":
            return object()
        case {"sleep": seconds}:
            time.sleep(seconds)
    return None


async def act_async(job: "aio.Job") -> Any:
    await job.update_progress(50)
    await asyncio.sleep(0.01)
    return [job.data, os.getpid()]


def batch(jobs: list[Job]) -> list[Any]:
    if any(job.data == "segfault" for job in jobs):
        ctypes.string_at(0)
    return [ValueError("bad") if job.data == "bad" else os.getpid() for job in jobs]


def change(job: Job) -> str:
    job.update_data({"step": "done"})
    job.update_progress(70)
    if job.name != "good":
        raise ValueError("bad")
    return "result"


def change_all(jobs: list[Job]) -> list[Any]:
    return [tried(change, job) for job in jobs]


def tried(function: Callable[[Job], Any], job: Job) -> Any:
    """Return what a function returns or raises."""
    try:
        return function(job)
    except Exception as error:
        return error


def both(job: Job, token: str) -> Any:
    return ["both", token == job.token, bool(token)]


def forking(job: Job) -> Any:
    """Return from the handler in a fork, too."""
    return ["fork" if os.fork() == 0 else "handler", job.id]


def square(job: Job) -> Any:
    return [job.data**2, os.getpid()]
