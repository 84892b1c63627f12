"""What the buttons do: each is a form that is sent with POST."""

from __future__ import annotations

from typing import Literal

from bullrush.aio import Job
from bullrush.dashboard.answer import Asked, Done, demand_known
from bullrush.dashboard.commands import command
from bullrush.dashboard.refusal import RefusalError


async def retry(asked: Asked) -> Done:
    """Run a finished job again."""
    found = await _found(asked)
    state = await found.get_state()
    if state not in ("failed", "completed"):
        raise RefusalError(409, f"Only a job that has ended can be retried, and this one is {state}.")
    ended: Literal["failed", "completed"] = "failed" if state == "failed" else "completed"
    await found.retry(ended)
    return _done(asked, f"Job {found.id} waits again, and runs when a worker has a free slot.", "retry", found.id)


async def promote(asked: Asked) -> Done:
    """Let a delayed job run now."""
    found = await _found(asked)
    await found.promote()
    return _done(asked, f"Job {found.id} waits now, and no longer for its time.", "promote", found.id)


async def remove(asked: Asked) -> Done:
    """Remove a job. Its children stay: they may be in queues in which the viewer may not remove anything."""
    found = await _found(asked)
    if not await asked.queue.remove(found.id, remove_children=False):
        raise RefusalError(409, "A worker runs this job, so it stays.")
    return _done(asked, f"Job {found.id} is removed.", "remove", found.id, is_gone=True)


async def cancel(asked: Asked) -> Done:
    """Ask the worker that runs a job to stop it."""
    found = await _found(asked)
    if not await asked.queue.cancel_job(found.id):
        raise RefusalError(409, f"No worker runs this job: it is {await found.get_state()}.")
    text = f"Job {found.id} was asked to stop. It fails as soon as its handler ends; workers of Node do not see it."
    return _done(asked, text, "cancel", found.id)


async def pause(asked: Asked) -> Done:
    """Let workers take no more jobs."""
    await demand_known(asked.queue)
    await asked.queue.pause()
    return _done(asked, "The queue is paused: running jobs end, and no other one starts.", "pause")


async def resume(asked: Asked) -> Done:
    """Let workers take jobs again."""
    await demand_known(asked.queue)
    await asked.queue.resume()
    return _done(asked, "The queue runs again.", "resume")


async def _found(asked: Asked) -> Job:
    job_id = asked.field("id")
    found = await asked.queue.get_job(job_id)
    if found is None:
        raise RefusalError.no_job(asked.queue_name, job_id)
    return found


def _done(asked: Asked, text: str, verb: str, job_id: str | None = None, *, is_gone: bool = False) -> Done:
    words = [verb] if job_id is None else ["jobs", verb, *(["--keep-children"] * (verb == "remove"))]
    names = [asked.queue_name] if job_id is None else [asked.queue_name, job_id]
    return Done(asked.queue_name, text, command(words, names, asked.source.prefix), is_gone=is_gone)
