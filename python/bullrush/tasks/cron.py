"""The job schedulers of `Tasks.cron` and `Tasks.every`: made when a worker starts, and removed by `prune`.

The set ``<prefix>:<queue>:ext:cron`` has every definition that a registry has written, as JSON: a scheduler is of a
registry if it is still as one of them says. All others are never touched, also if they have the same id.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from bullrush.errors import InvalidOptionError
from bullrush.extending import (
    JobSchedulerCalls,
    OptionCompiler,
    QueueCalls,
    SchedulerCalls,
    check_pattern,
    check_repeat,
    check_scheduler_id,
    check_template,
    checks,
    read_options,
    read_scheduler,
    reply,
    run_blocking,
)
from bullrush.scheduler import RepeatOptions
from bullrush.tasks.new_task import NewTask
from bullrush.tasks.task import Task

_MADE_HERE: Final = "ext:cron"

#: The rule and the job of each task that runs by itself, by its name.
Wanted: TypeAlias = "Mapping[str, tuple[Rule, NewTask[Any]]]"

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


class EveryRule(NamedTuple):
    """The time between two runs of a task that runs by itself.

    Attributes:
        every: ms.
    """

    every: int

    @property
    def repeat(self) -> RepeatOptions:
        """The rule as the repeat options of a job scheduler."""
        return {"every": self.every}


#: When a task runs by itself.
Rule: TypeAlias = CronRule | EveryRule


def check_rule(task: Task[Any, Any], rule: Rule) -> None:
    """Check a task that runs by itself, where the program defines it.

    Raises:
        InvalidOptionError: it needs arguments, or its name, its options or the rule are wrong.
    """
    check_scheduler_id(task.name)
    if task.opts.get("target") is not None:
        raise InvalidOptionError(
            "A task that runs by itself has no target: let it enqueue another task, which has one; or use "
            "Queue.upsert_job_scheduler()"
        )
    if task.opts.get("deduplication") is not None:
        raise InvalidOptionError(
            "deduplication does not keep the runs of such a task apart: give it a queue of its own with "
            "set_global_concurrency(1), or let it enqueue another task, which has deduplication"
        )
    check_repeat(rule.repeat)
    if isinstance(rule, CronRule):
        check_pattern(rule.pattern, checks.text("tz", rule.tz))
    check_template({"name": task.name, "opts": task.opts})
    try:
        task.bind()
    except TypeError as error:
        raise InvalidOptionError(
            f"A task that runs by itself is called without arguments: give each one a default ({error})"
        ) from None


async def upsert(handle: JobSchedulerCalls[Any], wanted: Wanted, import_path: str | None) -> None:
    """Make or update the job schedulers of these tasks, and warn about those whose code has gone. An operation.

    A scheduler that is as it should be is only read.

    Args:
        handle: the job schedulers of the queue.
        wanted: the tasks.
        import_path: where the registry of the tasks is, for the hint; None if that is not known.
    """
    await _write(handle, wanted)
    if gone := await _gone(handle, wanted):
        _log.warning(
            "Job schedulers of the queue %r were made by a @tasks.cron or @tasks.every whose code has gone: %s. "
            "They go on making jobs, each of which fails. Remove them: bullrush schedulers %s --prune %s",
            handle.name,
            ", ".join(gone),
            handle.name,
            import_path or "module:tasks",
        )


async def write_changed(handle: JobSchedulerCalls[Any], wanted: Wanted) -> list[str]:
    """Write those job schedulers again that another version of the code has written meanwhile. An operation.

    One that somebody has removed stays away, and one that is not ours stays as it is.

    Returns:
        The names of the tasks.
    """
    found = {task: await _stored(handle, task) for task in wanted}
    made_here = await _made_here(handle)
    changed = {
        task: (rule, new)
        for task, (rule, new) in wanted.items()
        if (stored := found[task]) is not None
        and stored[0] in made_here
        and stored[0] != _definition(new.name, rule, new.data, _options(new))
    }
    await _write(handle, changed)
    return sorted(changed)


async def _write(handle: JobSchedulerCalls[Any], wanted: Wanted) -> None:
    """Make or update the job schedulers of these tasks; one that is as it should be is only read."""
    found = {task: await _stored(handle, task) for task in wanted}
    # Read last: who writes a scheduler notes it here first.
    made_here = await _made_here(handle)
    for task, (rule, new) in wanted.items():
        stored, definition = found[task], _definition(new.name, rule, new.data, _options(new))
        if stored is not None and definition == stored[0]:
            continue
        if stored is not None and stored[0] not in made_here:
            _log.warning(
                "The queue %r has a job scheduler %r that no @tasks.cron or @tasks.every made: it stays as it is, and "
                "the task runs as it says, not as the code does. Remove the scheduler, or give the task another name",
                handle.name,
                task,
            )
            continue
        await reply(handle.core.note_cron(definition))
        if stored is not None and stored[1] != rule:
            # An update keeps the time of the next job, which the old rule made.
            await SchedulerCalls.remove_job_scheduler.steps(handle, task)
        await SchedulerCalls.upsert_job_scheduler.steps(handle, task, rule.repeat, new.template())


async def are_lost(handle: SchedulerCalls[Any], wanted: Collection[str]) -> bool:
    """Tell whether Redis has lost the definitions of these tasks, as after a restart without its data. An operation.

    A scheduler alone that is gone was removed by somebody.
    """
    noted = {orjson.loads(definition)[0] for definition in await _made_here(handle)}
    return bool(wanted) and noted.isdisjoint(wanted)


async def _stored(handle: SchedulerCalls[Any], scheduler_id: str) -> tuple[str, tuple[Any, ...]] | None:
    """Return the definition of a job scheduler, and the fields of its rule; None if there is none."""
    found: Any = await read_scheduler(handle.core, scheduler_id)
    if found is None:
        return None
    template, every = found.get("template", {}), found.get("every")
    rule = (found.get("pattern"), found.get("tz")) if every is None else (every,)
    return _definition(found.get("name"), rule, template.get("data", {}), template.get("opts", {})), rule


def _definition(name: object, rule: Iterable[object], data: object, opts: object) -> str:
    return orjson.dumps([name, *rule, data, opts], option=orjson.OPT_SORT_KEYS).decode()


def _options(new: NewTask[Any]) -> object:
    """Return the options of a job as they are read from its scheduler."""
    return read_options(orjson.loads(OptionCompiler().template(new.opts)))


async def _made_here(handle: SchedulerCalls[Any]) -> set[str]:
    # A member that is no definition must not keep workers from starting.
    return {text for text in await reply(handle.core.noted_crons()) if text.startswith('["') and text.endswith("]")}


def find_gone(queue: QueueCalls[Any], known: Collection[str]) -> list[str]:
    """Return the ids of the job schedulers that a registry of tasks made and that are not among the known ones.

    It blocks.

    Args:
        queue: the queue.
        known: the names of all tasks that still run by themselves: `Tasks.crons`.
    """
    return run_blocking(_gone(queue, known))


def prune(queue: QueueCalls[Any], known: Collection[str]) -> list[str]:
    """Remove the job schedulers of `Tasks.cron` and `Tasks.every` whose code has gone, with their next jobs; it blocks.

    Args:
        queue: the queue.
        known: the names of all tasks that still run by themselves: `Tasks.crons`.

    Returns:
        The ids of the removed schedulers.

    Redis:
        A read, and one for each scheduler; for each one that goes the script ``manage/remove_job_scheduler``; an SREM.
    """
    return run_blocking(_prune(queue, known))


async def _gone(queue: SchedulerCalls[Any], known: Collection[str]) -> list[str]:
    made_here = await _made_here(queue)
    others = {orjson.loads(definition)[0] for definition in made_here}.difference(known)
    found = {name: await _stored(queue, name) for name in others}
    return sorted(name for name, stored in found.items() if stored is not None and stored[0] in made_here)


async def _prune(queue: QueueCalls[Any], known: Collection[str]) -> list[str]:
    gone = await _gone(queue, known)
    for scheduler_id in gone:
        await SchedulerCalls.remove_job_scheduler.steps(queue, scheduler_id)
    if past := [one for one in await _made_here(queue) if orjson.loads(one)[0] not in known]:
        await reply(queue.core.forget_crons(past))
    return gone
