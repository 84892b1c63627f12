"""``bullrush jobs retry``, ``promote``, ``remove`` and ``cancel``: for jobs by id, or for many by state and pattern."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from bullrush.cli.jobs.selection import STATES, add_filters, is_filtered, note
from bullrush.cli.jobs.show import found_job, no_job
from bullrush.cli.terminal.asking import add_yes, confirm, progress
from bullrush.cli.terminal.ending import FAILED, USAGE, CommandError, code_of
from bullrush.cli.terminal.options import add_queue, known_queue
from bullrush.cli.terminal.output import say, write, write_json
from bullrush.errors import BullrushError, JobLockMismatchError, JobNotFoundError, SchedulerJobError
from bullrush.extending import SeenJob, change_seen, has_moved, run_blocking, seen_jobs
from bullrush.queue import Queue

EXAMPLES = """\
  bullrush jobs retry mail 17 18                       by id
  bullrush jobs retry mail --all                       all failed jobs, asks first
  bullrush jobs retry mail --error '*connection refused*'   all that failed with such a text
  bullrush jobs retry mail --error-type ConnectionError     all whose error was of this class
  bullrush jobs retry mail --all --state completed
  bullrush jobs promote mail --name digest             all delayed jobs of this name
  bullrush jobs remove mail --state failed --data ada@example.org --yes
  bullrush jobs cancel mail 17 --reason "wrong file\""""

#: The states in which a verb finds jobs if no ids are given; the first one is the default.
_STATES: Final[dict[str, Sequence[str]]] = {
    "retry": ("failed", "completed"),
    "promote": ("delayed",),
    "remove": STATES,
    "cancel": ("active",),
}
_DONE: Final = {"retry": "retried", "promote": "promoted", "remove": "removed", "cancel": "asked to stop"}
_ENDED: Final = frozenset({"completed", "failed"})
_PATTERNS: Final = "--id, --name, --error, --error-type, --failure, --data, --where"
#: After so many, further errors are only counted.
_SHOWN_ERRORS: Final = 10
#: So many jobs are changed at the same time.
_PART: Final = 200


def configure(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add the arguments of a verb."""
    add_queue(parser)
    parser.add_argument("ids", nargs="*", metavar="ID", help="the jobs; or select them by the options below")
    add_filters(parser, _STATES[verb])
    parser.add_argument("--all", action="store_true", help="all jobs that fit; alone: all of the state")
    if verb == "retry":
        parser.add_argument("--reset-attempts", action="store_true", help="count the attempts from 0 again")
    elif verb == "remove":
        parser.add_argument("--keep-children", action="store_true", help="leave the children of the jobs")
    elif verb == "cancel":
        parser.add_argument("--reason", help="the reason with which the jobs fail")
    add_yes(parser)


def run(options: argparse.Namespace) -> int:
    """Change the jobs.

    JSON: ``{"queue": name, "done": [id...], "failed": [{"id": id, "error": text, "meanwhile": bool}...]}``.
    """
    queue = known_queue(options)
    done: list[str] = []
    failed: list[_Failed] = []
    chosen = _named(queue, options) if options.ids else _selected(queue, options)
    total = sum(map(len, chosen.values()))
    try:
        for job_id, failure in progress(_outcomes(queue, chosen, options), total, _DONE[options.verb]):
            if failure is None:
                done.append(job_id)
            else:
                failed.append(failure)
    except BaseException:
        # Ctrl-C, or Redis has gone.
        under_way = min(_part(options), total - len(done) - len(failed))
        also = f" Of up to {under_way:,} more nobody knows." if under_way else ""
        say(f"Interrupted: {len(done):,} of {total:,} jobs {_DONE[options.verb]}.{also}")
        raise
    if options.json:
        write_json({"queue": queue.name, "done": done, "failed": [one._asdict() for one in failed]})
    else:
        write(f"{len(done):,} {'job' if len(done) == 1 else 'jobs'} {_DONE[options.verb]}.{_said_of_moved(failed)}")
        _say_failures([one for one in failed if not one.meanwhile])
    return FAILED if failed else 0


class _Failed(NamedTuple):
    """A job that was not changed.

    Attributes:
        id: its id.
        error: why.
        meanwhile: it was meant, and has changed since then.
    """

    id: str
    error: str
    meanwhile: bool


def _named(queue: Queue, options: argparse.Namespace) -> dict[str, list[SeenJob]]:
    """Note the jobs whose ids are given, by the state that is expected."""
    if options.all or is_filtered(options):
        raise CommandError(f"give ids or patterns ({_PATTERNS}, --all), not both", USAGE)
    noted = run_blocking(seen_jobs(queue.core, options.ids))
    if options.verb != "remove":
        return {_states(options)[0]: noted}
    by_state: dict[str, list[SeenJob]] = {}
    for job in noted:
        by_state.setdefault(queue.get_job_state(job.id), []).append(job)
    return by_state


def _selected(queue: Queue, options: argparse.Namespace) -> dict[str, list[SeenJob]]:
    """Note the jobs that fit, by their state. Asks before many are changed."""
    if not options.all and not options.state and not is_filtered(options):
        raise CommandError(
            f"which jobs? Give ids, or --all, {_PATTERNS}; see {options.verb} --help",
            USAGE,
        )
    states = _states(options)
    # Redis looks for a job in a list from its newest end.
    chosen = note(queue, options, states, newest_first=options.verb == "remove")
    if total := sum(map(len, chosen.values())):
        kind = "" if len(states) == len(STATES) else f"{' and '.join(states)} "
        jobs = "job" if total == 1 else "jobs"
        confirm(options, f"{options.verb.capitalize()} {total:,} {kind}{jobs} of {queue.name}?")
    return chosen


def _states(options: argparse.Namespace) -> Sequence[str]:
    """Return the states in which jobs are meant."""
    given: Sequence[str] | None = options.state
    return given or (STATES if options.verb == "remove" else _STATES[options.verb][:1])


def _outcomes(
    queue: Queue, chosen: dict[str, list[SeenJob]], options: argparse.Namespace
) -> Iterator[tuple[str, _Failed | None]]:
    """Change the jobs, some hundred at a time; yield the id of each, and why it was not changed."""
    size = _part(options)
    for state, jobs in chosen.items():
        for first in range(0, len(jobs), size):
            part = jobs[first : first + size]
            outcomes = _changed(queue, state, part, options)
            lost = [error for error in outcomes if error is not None and code_of(error) != FAILED]
            for job, error in zip(part, outcomes, strict=True):
                if error not in lost:
                    yield job.id, None if error is None else _failed(queue, job.id, error, options)
            if lost:
                raise lost[0]


def _part(options: argparse.Namespace) -> int:
    """Return how many jobs are changed at the same time."""
    return 1 if options.verb == "cancel" else _PART


def _changed(
    queue: Queue, state: str, jobs: Sequence[SeenJob], options: argparse.Namespace
) -> Sequence[BullrushError | CommandError | None]:
    """Change some jobs that are in a state; return why those that were not changed were not."""
    if options.verb == "cancel":
        return [_cancelled(queue, job.id, options) for job in jobs]
    reset, children = getattr(options, "reset_attempts", False), not getattr(options, "keep_children", True)
    # A job that waits is in another list while the queue is paused, or in none if somebody has taken it out.
    state = "waiting" if state in ("paused", "unknown") else state
    return run_blocking(
        change_seen(queue.core, options.verb, state, jobs, reset_attempts=reset, remove_children=children)
    )


def _cancelled(queue: Queue, job_id: str, options: argparse.Namespace) -> BullrushError | CommandError | None:
    try:
        found_job(queue, job_id)
        if queue.cancel_job(job_id, options.reason):
            return None
        state = queue.get_job_state(job_id)
    except (BullrushError, CommandError) as error:
        return error
    hint = "" if state in _ENDED else "; remove it to keep it from running"
    return CommandError(f"it is {state}: no worker runs it{hint}")


def _failed(queue: Queue, job_id: str, error: BullrushError | CommandError, options: argparse.Namespace) -> _Failed:
    if not options.ids and isinstance(error, BullrushError) and has_moved(error):
        return _Failed(job_id, "it has changed meanwhile, and was left alone", True)
    if isinstance(error, JobNotFoundError):
        return _Failed(job_id, str(no_job(queue, job_id)), False)
    if isinstance(error, SchedulerJobError):
        advice = f"'bullrush schedulers {queue.name} --remove ID' removes both"
        return _Failed(job_id, f"it is the next job of a job scheduler and cannot be removed alone: {advice}", False)
    if isinstance(error, JobLockMismatchError):
        return _Failed(job_id, "a worker runs it, or one of its children; cancel it first", False)
    return _Failed(job_id, str(error), False)


def _said_of_moved(failed: Sequence[_Failed]) -> str:
    moved = sum(one.meanwhile for one in failed)
    return f" {moved:,} had changed meanwhile and {'was' if moved == 1 else 'were'} left alone." if moved else ""


def _say_failures(failed: Sequence[_Failed]) -> None:
    for failure in failed[:_SHOWN_ERRORS]:
        say(f"job {failure.id}: {failure.error}")
    if len(failed) > _SHOWN_ERRORS:
        say(f"and {len(failed) - _SHOWN_ERRORS:,} more that failed; --json lists all")
