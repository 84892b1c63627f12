"""``bullrush history``: the jobs that a recorder has seen, and the attempts of one."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from datetime import datetime
from typing import Final

from bullrush.cli.history.record import FILE
from bullrush.cli.terminal.ending import FAILED, CommandError
from bullrush.cli.terminal.options import count, duration
from bullrush.cli.terminal.output import age, moment, say, write_json, write_table
from bullrush.extending import nearest
from bullrush.recorder import Bar, History, Remembered, RememberedJob

EXAMPLES = """\
  bullrush history mail                                the jobs that were heard of last, also those that are gone
  bullrush history mail --failed --reason 'no such user'
  bullrush history mail --name welcome --outcome completed --limit 500
  bullrush history mail --id 17                        when it waited, ran and waited again
  bullrush history mail --minutes 1h --json            how many were added, completed and failed in each minute"""

_OUTCOMES: Final = ("completed", "failed", "removed")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("queue", metavar="QUEUE", help="the queue's name")
    parser.add_argument("--file", default=FILE, metavar="FILE", help=f"what 'record' writes (default: {FILE})")
    parser.add_argument("--id", metavar="ID", help="the attempts of this job")
    parser.add_argument("--name", help="only jobs of this name")
    outcome = parser.add_mutually_exclusive_group()
    outcome.add_argument("--outcome", choices=_OUTCOMES, help="only jobs that ended like this")
    outcome.add_argument("--failed", action="store_const", dest="outcome", const="failed", help="only jobs that failed")
    parser.add_argument("--reason", metavar="TEXT", help="only jobs whose reason has this text, or this fingerprint")
    parser.add_argument("--limit", type=count, default=100, metavar="N", help="at most N jobs (default: 100)")
    parser.add_argument("--minutes", type=duration, metavar="TIME", help="instead the counts per minute of the last 1h")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print jobs, the attempts of one, or counts.

    JSON: ``{"queue", "remembered": fields of Remembered}`` and ``jobs``, a list of the fields of `RememberedJob`; with
    ``--id`` ``attempts`` and ``bars``, lists of the fields of `Attempt` and `Bar`; with ``--minutes`` ``minutes``, a
    list of the fields of `MinuteCounts`. The exit code is 1 if a job is not found.
    """
    with History(options.file) as history:
        known = history.remembered(options.queue)
        if known is None:
            raise CommandError(
                f"{options.file} has no queue {options.queue!r}.{nearest(options.queue, history.queues())}"
            )
        if options.id is not None:
            return _show_job(history, known, options)
        if options.minutes is not None:
            return _show_minutes(history, known, options)
        found = history.find(
            options.queue, name=options.name, outcome=options.outcome, reason=options.reason, limit=options.limit
        )
    if options.json:
        write_json(_known(options.queue, known) | {"jobs": [asdict(job) for job in found]})
        return 0
    _say_what_is_known(known)
    write_table(["job", "name", "attempts", "outcome", "when", "failure", "reason"], [_row(job) for job in found])
    return 0


def _known(queue: str, known: Remembered) -> dict[str, object]:
    return {"queue": queue, "remembered": asdict(known)}


def _say_what_is_known(known: Remembered) -> None:
    say(f"Remembers since {moment(known.since)}, until {moment(known.until)}.")
    if known.successes_since > known.since:
        say(f"Completed jobs since {moment(known.successes_since)}: older ones have left the file.")
    if known.gaps:
        begin, end = known.gaps[-1]
        say(f"Gaps: {len(known.gaps)}; the last one is from {_clock(begin)} to {_clock(end)}.")
    if known.share > 1:
        say(f"There are too many events: one of {known.share} jobs is kept. Counts are of all jobs.")


def _row(job: RememberedJob) -> list[object]:
    return [
        job.job_id,
        job.name,
        job.number,
        job.outcome or "goes on",
        f"{age(job.at)} ago",
        job.fingerprint,
        job.reason,
    ]


def _show_job(history: History, known: Remembered, options: argparse.Namespace) -> int:
    attempts = history.attempts(options.queue, options.id)
    bars = history.waterfall(options.queue, options.id)
    if options.json:
        found = {"attempts": [asdict(one) for one in attempts], "bars": [asdict(bar) for bar in bars]}
        write_json(_known(options.queue, known) | found)
    elif not attempts:
        _say_what_is_known(known)
        say(f"Nothing is known of job {options.id!r} of {options.queue!r}.")
    else:
        [job] = history.find(options.queue, job_id=options.id)
        say(f"{job.name or 'a job'} {job.job_id}: {job.outcome or 'goes on'}{f': {job.reason}' if job.reason else ''}")
        write_table(["attempt", "from", "for (ms)", "it was", "and then"], [_bar_row(bar) for bar in bars])
    return 0 if attempts else FAILED


def _bar_row(bar: Bar) -> list[object]:
    end = bar.end if bar.end is not None else int(time.time() * 1_000)
    doing = "not seen (gap)" if bar.doing == "gap" else bar.doing
    return [
        bar.number,
        _clock(bar.begin),
        end - bar.begin,
        doing,
        bar.outcome or ("goes on" if bar.end is None else ""),
    ]


def _show_minutes(history: History, known: Remembered, options: argparse.Namespace) -> int:
    now = int(time.time() * 1_000)
    found = history.minutes(options.queue, now - options.minutes, now)
    if options.json:
        write_json(_known(options.queue, known) | {"minutes": [asdict(minute) for minute in found]})
        return 0
    _say_what_is_known(known)
    counts = ["added", "started", "completed", "failed", "stalled", "removed"]
    write_table(
        ["minute", *counts, "complete"],
        [
            [_clock(one.begin), *(getattr(one, name) for name in counts), "yes" if one.complete else "no"]
            for one in found
        ],
    )
    return 0


def _clock(at: int) -> str:
    return datetime.fromtimestamp(at / 1_000).astimezone().isoformat(sep=" ", timespec="milliseconds")[:23]
