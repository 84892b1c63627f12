"""``bullrush jobs retry``, ``promote``, ``remove`` and ``cancel``: for jobs by id, or for many by state and pattern."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Final

from bullrush.cli.jobs.selection import STATES, add_filters, find, is_filtered
from bullrush.cli.jobs.show import found_job
from bullrush.cli.terminal.asking import add_yes, confirm, progress
from bullrush.cli.terminal.ending import FAILED, USAGE, CommandError, code_of
from bullrush.cli.terminal.options import add_queue, known_queue
from bullrush.cli.terminal.output import say, write, write_json
from bullrush.errors import BullrushError
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
    """Change the jobs. JSON: ``{"queue": name, "done": [id...], "failed": [{"id": id, "error": text}...]}``."""
    queue = known_queue(options)
    done: list[str] = []
    failed: list[dict[str, str]] = []
    chosen = _chosen(queue, options)
    try:
        for job_id, state in progress(chosen, _DONE[options.verb]):
            if (error := _changed(queue, job_id, state, options)) is None:
                done.append(job_id)
            else:
                failed.append({"id": job_id, "error": error})
    except BaseException:
        # Ctrl-C, or Redis has gone.
        say(f"Interrupted: {len(done):,} of {len(chosen):,} jobs {_DONE[options.verb]}.")
        raise
    if options.json:
        write_json({"queue": queue.name, "done": done, "failed": failed})
    else:
        write(f"{len(done):,} {'job' if len(done) == 1 else 'jobs'} {_DONE[options.verb]}.")
        _say_failures(failed)
    return FAILED if failed else 0


def _changed(queue: Queue, job_id: str, state: str, options: argparse.Namespace) -> str | None:
    """Change a job; return why that is not possible."""
    try:
        _CHANGES[options.verb](queue, job_id, state, options)
    except (BullrushError, CommandError) as error:
        if code_of(error) != FAILED:
            raise
        return str(error)
    return None


def _chosen(queue: Queue, options: argparse.Namespace) -> list[tuple[str, str]]:
    """Return the ids of the jobs and the states to expect. Asks before many are changed."""
    states = options.state or (STATES if options.verb == "remove" else _STATES[options.verb][:1])
    if options.ids:
        if options.all or is_filtered(options):
            raise CommandError(f"give ids or patterns ({_PATTERNS}, --all), not both", USAGE)
        return [(job_id, states[0]) for job_id in options.ids]
    if not options.all and not options.state and not is_filtered(options):
        raise CommandError(
            f"which jobs? Give ids, or --all, {_PATTERNS}; see {options.verb} --help",
            USAGE,
        )
    if is_filtered(options):
        chosen = [(found.job.id, found.state) for found in find(queue, options, states)]
    else:
        # Only the ids, since there may be millions of jobs.
        chosen = [(job_id, state) for state in states for job_id in queue.get_ranges(state, asc=True)]
        chosen = list({job_id: (job_id, state) for job_id, state in chosen}.values())
    if chosen:
        kind = "" if len(states) == len(STATES) else f"{' and '.join(states)} "
        jobs = "job" if len(chosen) == 1 else "jobs"
        confirm(options, f"{options.verb.capitalize()} {len(chosen):,} {kind}{jobs} of {queue.name}?")
    return chosen


def _say_failures(failed: list[dict[str, str]]) -> None:
    for failure in failed[:_SHOWN_ERRORS]:
        say(f"job {failure['id']}: {failure['error']}")
    if len(failed) > _SHOWN_ERRORS:
        say(f"and {len(failed) - _SHOWN_ERRORS:,} more that failed; --json lists all")


def _retry(queue: Queue, job_id: str, state: str, options: argparse.Namespace) -> None:
    found_job(queue, job_id).retry(
        "completed" if state == "completed" else "failed",
        reset_attempts_made=options.reset_attempts,
        reset_attempts_started=options.reset_attempts,
    )


def _promote(queue: Queue, job_id: str, _state: str, _options: argparse.Namespace) -> None:
    found_job(queue, job_id).promote()


def _remove(queue: Queue, job_id: str, _state: str, options: argparse.Namespace) -> None:
    found_job(queue, job_id)
    if not queue.remove(job_id, remove_children=not options.keep_children):
        raise CommandError("a worker runs it, or one of its children; cancel it first")


def _cancel(queue: Queue, job_id: str, _state: str, options: argparse.Namespace) -> None:
    found_job(queue, job_id)
    if not queue.cancel_job(job_id, options.reason):
        state = queue.get_job_state(job_id)
        hint = "" if state in _ENDED else "; remove it to keep it from running"
        raise CommandError(f"it is {state}: no worker runs it{hint}")


_CHANGES: Final[dict[str, Callable[[Queue, str, str, argparse.Namespace], None]]] = {
    "retry": _retry,
    "promote": _promote,
    "remove": _remove,
    "cancel": _cancel,
}
