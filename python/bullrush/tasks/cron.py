"""The job schedulers of `Tasks.cron`: made when a worker starts, and removed by `prune`.

Which schedulers a registry made is in the set ``<prefix>:<queue>:ext:cron``. Others are never touched.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

import orjson

from bullrush.base.operation import reply, run_blocking
from bullrush.errors import InvalidOptionError
from bullrush.job.handle import JobHandle
from bullrush.job.option_compiler import OptionCompiler, read_options
from bullrush.queue.queue import QueueCalls
from bullrush.scheduler.options import RepeatOptions, check_repeat, check_scheduler_id, check_template
from bullrush.scheduler.scheduler import JobSchedulerCalls, SchedulerCalls, SchedulerJson
from bullrush.tasks.new_task import NewTask
from bullrush.tasks.task import Task

_MADE_HERE: Final = "ext:cron"

_log: Final = logging.getLogger("bullrush")


class CronRule(NamedTuple):
    """When a task runs by itself.

    Attributes:
        pattern: a cron pattern with five fields, or six with seconds first.
        tz: the time zone.
    """

    pattern: str
    tz: str

    @property
    def repeat(self) -> RepeatOptions:
        """The rule as the repeat options of a job scheduler."""
        return {"pattern": self.pattern, "tz": self.tz}


def check_cron(task: Task[Any, Any], rule: CronRule) -> None:
    """Check a task that runs by itself, where the program defines it.

    Raises:
        InvalidOptionError: it needs arguments, or its name, its options or the rule are wrong.
    """
    check_scheduler_id(task.name)
    check_repeat(rule.repeat)
    check_template({"name": task.name, "opts": task.opts})
    try:
        task.bind()
    except TypeError as error:
        raise InvalidOptionError(
            f"A cron task is called without arguments: give each one a default ({error})"
        ) from None


async def upsert(handle: JobSchedulerCalls[Any], wanted: Mapping[str, tuple[CronRule, NewTask[Any]]]) -> None:
    """Make or update the job schedulers of these tasks, and warn about those whose code has gone. An operation.

    A scheduler that is as it should be is only read.

    Args:
        handle: the job schedulers of the queue.
        wanted: the rule and the job of each task, by its name.
    """
    found = {task: await JobSchedulerCalls.get_scheduler.steps(handle, task) for task in wanted}
    # Read last: who makes a scheduler notes it here first.
    made_here = await _made_here(handle)
    for task, (rule, new) in wanted.items():
        stored = found[task]
        if stored is not None and task not in made_here:
            _log.warning(
                "The queue %r has a job scheduler %r that no @tasks.cron made: it stays as it is, and the task does not "
                "run by itself. Remove the scheduler, or give the task another name",
                handle.name,
                task,
            )
        elif stored is None or not _is_current(stored, rule, new):
            await _make(handle, stored, rule, new)
    if gone := sorted(made_here - wanted.keys()):
        _log.warning(
            "Job schedulers of the queue %r were made by a @tasks.cron whose code has gone: %s. "
            "Remove them: bullrush schedulers %s --prune module:tasks",
            handle.name,
            ", ".join(gone),
            handle.name,
        )


async def _make(
    handle: JobSchedulerCalls[Any], stored: SchedulerJson | None, rule: CronRule, new: NewTask[Any]
) -> None:
    await reply(handle.core.commands([["SADD", handle.to_key(_MADE_HERE), new.name]]))
    if stored is not None and (stored.get("pattern"), stored.get("tz")) != rule:
        # An update keeps the time of the next job, which the old pattern made.
        await SchedulerCalls.remove_job_scheduler.steps(handle, new.name)
    await SchedulerCalls.upsert_job_scheduler.steps(handle, new.name, rule.repeat, new.template())


def _is_current(stored: SchedulerJson, rule: CronRule, new: NewTask[Any]) -> bool:
    template = stored.get("template", {})
    opts = read_options(orjson.loads(OptionCompiler().template(new.opts)))
    return (
        (stored.get("pattern"), stored.get("tz"), stored.get("name")) == (*rule, new.name)
        and template.get("data", {}) == new.data
        and template.get("opts", {}) == opts
    )


async def _made_here(handle: JobHandle) -> set[str]:
    [members] = await reply(handle.core.commands([["SMEMBERS", handle.to_key(_MADE_HERE)]]))
    return {raw.decode(errors="replace") for raw in members}


def find_gone(queue: QueueCalls[Any], known: Collection[str]) -> list[str]:
    """Return the ids of the job schedulers that a `Tasks.cron` made and that are not among the known ones; it blocks."""
    return run_blocking(_gone(queue, known))


def prune(queue: QueueCalls[Any], known: Collection[str]) -> list[str]:
    """Remove the job schedulers that a `Tasks.cron` made and whose code has gone, with their next jobs; it blocks.

    Args:
        queue: the queue.
        known: the names of all tasks that still run by themselves: `Tasks.crons`.

    Returns:
        The ids of the removed schedulers.

    Redis:
        A read; for each one the script ``manage/remove_job_scheduler`` and an SREM.
    """
    return run_blocking(_prune(queue, known))


async def _gone(queue: JobHandle, known: Iterable[str]) -> list[str]:
    return sorted(await _made_here(queue) - set(known))


async def _prune(queue: QueueCalls[Any], known: Iterable[str]) -> list[str]:
    gone = await _gone(queue, known)
    for scheduler_id in gone:
        await SchedulerCalls.remove_job_scheduler.steps(queue, scheduler_id)
        await reply(queue.core.commands([["SREM", queue.to_key(_MADE_HERE), scheduler_id]]))
    return gone
