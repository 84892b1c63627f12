"""``bullrush failures``: the failed jobs of a queue, grouped by what failed."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Final

from bullrush.cli.terminal.options import add_queue, count, known_queue
from bullrush.cli.terminal.output import age, say, write_json, write_table
from bullrush.extending import NEWEST_FAILURES
from bullrush.inspection import FailureGroup

EXAMPLES = """\
  bullrush failures mail
  bullrush jobs list mail --failure 3f9ac1d20b77      the jobs of a group
  bullrush jobs retry mail --failure 3f9ac1d20b77     exactly these run again
  bullrush failures mail --json | jq '.[0].job_ids'"""

_NAMES: Final = 3


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument(
        "--newest",
        type=count,
        default=NEWEST_FAILURES,
        metavar="N",
        help=f"look at the N that failed last (default: {NEWEST_FAILURES})",
    )


def run(options: argparse.Namespace) -> int:
    """Print the groups. JSON: a list of the fields of `bullrush.inspection.FailureGroup`, with ``count``."""
    queue = known_queue(options)
    groups = queue.failures(options.newest)
    if options.json:
        write_json([{**asdict(group), "count": group.count} for group in groups])
        return 0
    if not groups:
        say(f"{queue.name} has no failed jobs.")
        return 0
    write_table(["jobs", "first", "last", "failure", "names", "what failed"], [_row(group) for group in groups])
    looked = sum(group.count for group in groups)
    if looked == options.newest < queue.get_failed_count():
        say(f"Only the {looked:,} that failed last were looked at: --newest N looks at more.")
    return 0


def _row(group: FailureGroup) -> list[object]:
    names = list(group.names)
    shown = ", ".join(names[:_NAMES]) + (", ..." if len(names) > _NAMES else "")
    return [group.count, _ago(group.first), _ago(group.last), group.id, shown, group.label]


def _ago(moment: int | None) -> str | None:
    passed = age(moment)
    return None if passed is None else f"{passed} ago"
