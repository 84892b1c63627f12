"""``bullrush jobs show``: all of one job."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Final

from bullrush.cli.jobs.listing import as_json, dues
from bullrush.cli.terminal.ending import CommandError
from bullrush.cli.terminal.options import add_queue, known_queue
from bullrush.cli.terminal.output import compact, moment, shown, write, write_fields, write_json
from bullrush.errors import MalformedJobError
from bullrush.extending import JSON
from bullrush.inspection import readable_trace
from bullrush.job import Cursor, Job
from bullrush.queue import Queue

EXAMPLES = """\
  bullrush jobs show mail 17
  bullrush jobs show mail 17 --full      long values in full
  bullrush jobs show mail 17 --json | jq .data"""

_LAST_LOGS: Final = 20
_CHILDREN: Final = 20
_KINDS: Final = ("processed", "unprocessed", "ignored", "failed")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("job", metavar="ID", help="the job's id")
    parser.add_argument("--full", action="store_true", help="do not shorten long values")


def run(options: argparse.Namespace) -> int:
    """Print the job. JSON: as in a list, with ``logs`` (all rows) and ``children`` (numbers by state)."""
    queue = known_queue(options)
    job = found_job(queue, options.job)
    state = job.get_state()
    due = dues(queue, [job.id])[job.id]
    if options.json:
        logs = queue.get_job_logs(job.id)["logs"]
        write_json({**as_json(job, state, due), "logs": logs, "children": job.get_dependencies_count()})
    else:
        _print(queue, job, state, due, full=options.full)
    return 0


def found_job(queue: Queue, job_id: str) -> Job:
    """Return a job that exists.

    Raises:
        CommandError: it does not.
    """
    job = queue.get_job(job_id)
    if job is None:
        raise no_job(queue, job_id)
    return job


def no_job(queue: Queue, job_id: str) -> CommandError:
    """Return the error for a job that does not exist."""
    return CommandError(f"the queue {queue.name!r} has no job {job_id!r}; it was removed, or never added")


def _print(queue: Queue, job: Job, state: str, due: int | None, *, full: bool) -> None:
    write_fields(
        {
            "id": job.id,
            "name": job.name,
            "queue": queue.qualified_name,
            "state": state,
            "added": moment(job.timestamp),
            "delay": f"{job.delay} ms" if job.delay else None,
            "due": moment(due),
            "priority": job.priority or None,
            "started": moment(job.processed_on),
            "finished": moment(job.finished_on),
            "attempts": f"{job.attempts_made} made, {job.attempts_started} started",
            "stalled": f"{job.stalled_counter} times" if job.stalled_counter else None,
            "worker": job.processed_by,
            "progress": shown(job.progress, full=full) if job.progress else None,
            "deduplication": job.deduplication_id,
            "scheduler": job.repeat_job_key,
            "parent": job.parent_key,
            "options": compact(_readable(lambda: job.opts)),
        }
    )
    _section("data", shown(_readable(lambda: job.data), full=full))
    if state == "completed":
        _section("result", shown(job.returnvalue, full=full))
    if job.failed_reason is not None:
        _section("failed because", shown(job.failed_reason, full=full))
    if job.stacktrace:
        _section("stack trace of the last failure", shown(readable_trace(job.stacktrace[-1]), full=full))
    _print_children(job)
    _print_logs(queue, job, full=full)


def _readable(attribute: Callable[[], JSON]) -> JSON:
    try:
        return attribute()
    except MalformedJobError as error:
        return f"({error})"


def _print_children(job: Job) -> None:
    counts = job.get_dependencies_count()
    total = sum(count for count in (counts.get(kind, 0) for kind in _KINDS) if isinstance(count, int))
    if not total:
        return
    page: Cursor = {"count": _CHILDREN}
    found = job.get_dependencies(processed=page, unprocessed=page, ignored=page, failed=page)
    kinds = {
        "completed": found.get("processed", {}),
        "unfinished": found.get("unprocessed", []),
        "failed, ignored": found.get("ignored", {}),
        "failed": found.get("failed", []),
    }
    rows = [f"{kind}: {key}" for kind, keys in kinds.items() for key in keys][:_CHILDREN]
    _section("children", "\n".join(rows))
    if total > len(rows):
        write(f"  ... of {total:,}; 'bullrush flow' shows the tree")


def _print_logs(queue: Queue, job: Job, *, full: bool) -> None:
    logs = queue.get_job_logs(job.id, 0 if full else -_LAST_LOGS, -1)
    if logs["logs"]:
        _section("log", "\n".join(logs["logs"]))
        if logs["count"] > len(logs["logs"]):
            write(f"  (the last {len(logs['logs'])} of {logs['count']:,} rows; --full shows all)")


def _section(title: str, text: str) -> None:
    write(f"\n{title}:")
    for line in text.splitlines() or [""]:
        write(f"  {line}")
