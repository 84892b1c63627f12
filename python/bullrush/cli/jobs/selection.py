"""Which jobs of a queue are meant: by state, id, name, data and error."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from bullrush.cli.terminal.output import compact, say
from bullrush.errors import InvalidOptionError, MalformedJobError
from bullrush.extending import SeenJob, run_blocking, seen_jobs
from bullrush.inspection import SearchPosition, Where, error_type_of, failure_of
from bullrush.job import Job
from bullrush.queue import Queue

STATES: Final = (
    "waiting", "active", "delayed", "prioritized", "waiting-children", "completed", "failed", "paused",
)  # fmt: skip
_PAGE: Final = 250
#: So many ids are looked up in a round trip.
_IDS: Final = 1_000


class Found(NamedTuple):
    """A job and the state in which it was found."""

    job: Job
    state: str


def add_filters(parser: argparse.ArgumentParser, states: Sequence[str] = STATES) -> None:
    """Add the options that select jobs."""
    group = parser.add_argument_group("which jobs")
    group.add_argument("--state", action="append", choices=states, help="only this state; may be given more than once")
    group.add_argument("--id", metavar="PATTERN", help="only ids like this; * is any text")
    group.add_argument("--name", metavar="PATTERN", help="only names like this; * is any text")
    group.add_argument(
        "--error",
        metavar="PATTERN",
        help="only jobs whose last failure has a text like this, which is not its class; * is any text",
    )
    group.add_argument(
        "--error-type",
        metavar="PATTERN",
        help="only jobs of Python whose last error was of a class like ConnectionError",
    )
    group.add_argument(
        "--failure", metavar="ID", help="only jobs of this group of failures, as 'bullrush failures' shows it"
    )
    group.add_argument(
        "--where",
        type=_where,
        metavar="FILTER",
        help="only jobs like name:welcome* data.user.id:17 failed>1h; a word like welcome is a part "
        "of a name, and a number an id. It looks at millions without much of Redis",
    )
    group.add_argument("--data", metavar="TEXT", help="only jobs with this text in their data (as JSON, in any case)")


def is_filtered(options: argparse.Namespace) -> bool:
    """Return whether jobs are selected by more than their state."""
    return options.where is not None or _needs_jobs(options)


def _where(text: str) -> Where:
    try:
        return Where.read(text)
    except InvalidOptionError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def find(queue: Queue, options: argparse.Namespace, states: Sequence[str] = STATES) -> Iterator[Found]:
    """Find jobs, state after state, in pages of 250, so that Redis serves others in between.

    Jobs that move to another state meanwhile are found once or not at all.
    """
    seen: set[str] = set()
    for state in states:
        for job in _jobs(queue, state) if options.where is None else _searched_jobs(queue, state, options.where):
            if job.id not in seen and matches(job, options):
                seen.add(job.id)
                yield Found(job, state)


def note(
    queue: Queue, options: argparse.Namespace, states: Sequence[str], *, newest_first: bool
) -> dict[str, list[SeenJob]]:
    """Note the jobs that are meant as they are now, by the state in which they are.

    Of most jobs only the ids are read, since there may be millions.
    """
    noted: dict[str, list[SeenJob]] = {state: [] for state in states}
    if _needs_jobs(options):
        for job, state in find(queue, options, states):
            noted[state].append(SeenJob(job.id, "" if job.finished_on is None else str(job.finished_on)))
        return noted
    known: set[str] = set()
    for state in states:
        for ids in (
            _ids(queue, state, newest_first) if options.where is None else _searched(queue, state, options.where)
        ):
            new = [job_id for job_id in ids if job_id not in known]
            known.update(new)
            noted[state] += run_blocking(seen_jobs(queue.core, new))
    return noted


def _needs_jobs(options: argparse.Namespace) -> bool:
    """Return whether jobs have to be read whole to know whether they fit."""
    given = (options.id, options.name, options.error, options.error_type, options.failure, options.data)
    return any(value is not None for value in given)


def _ids(queue: Queue, state: str, newest_first: bool) -> Iterator[list[str]]:
    ids = queue.get_ranges(state, asc=not newest_first)
    for start in range(0, len(ids), _IDS):
        yield ids[start : start + _IDS]


def _jobs(queue: Queue, state: str) -> Iterator[Job]:
    # `waiting` includes `paused` here.
    (total, *_) = queue.get_job_counts(state).values() if state != "waiting" else (_waiting(queue),)
    for start in range(0, total, _PAGE):
        yield from queue.get_jobs(state, start, start + _PAGE - 1, asc=state not in {"completed", "failed"})


def _searched_jobs(queue: Queue, state: str, where: Where) -> Iterator[Job]:
    for ids in _searched(queue, state, where):
        for job_id in ids:
            if (job := queue.get_job(job_id)) is not None:
                yield job


def _searched(queue: Queue, state: str, where: Where) -> Iterator[list[str]]:
    after: SearchPosition | None = None
    while True:
        found = queue.search(where, state, after=after)
        yield found.job_ids
        if found.too_large:
            say(f"{found.too_large:,} jobs have more than 1 MB of data, and were left out.")
        after = found.after
        if after is None:
            return


def _waiting(queue: Queue) -> int:
    return max(queue.get_job_counts("waiting").values())


def matches(job: Job, options: argparse.Namespace) -> bool:
    """Return whether a job fits all patterns."""
    if options.id is not None and not fnmatchcase(job.id, options.id):
        return False
    if options.name is not None and not fnmatchcase(job.name, options.name):
        return False
    if options.error is not None and not fnmatchcase(job.failed_reason or "", options.error):
        return False
    if options.error_type is not None and not fnmatchcase(error_type_of(job) or "", options.error_type):
        return False
    if options.failure is not None and failure_of(job) != options.failure:
        return False
    return options.data is None or re.search(re.escape(options.data), _text_of_data(job), re.IGNORECASE) is not None


def _text_of_data(job: Job) -> str:
    try:
        return compact(job.data)
    except MalformedJobError:
        return ""
