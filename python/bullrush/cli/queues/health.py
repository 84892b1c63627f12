"""``bullrush health``: whether somebody works a queue, and fast enough."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Final

from bullrush.cli.terminal.ending import FAILED
from bullrush.cli.terminal.options import add_queue, duration, known_queue
from bullrush.cli.terminal.output import age, write_fields, write_json

EXAMPLES = """\
  bullrush health mail                                       exit code 1 if there is a problem
  bullrush health mail --max-waiting 10000 --max-oldest 5m   also if too many jobs wait, or one for too long
  bullrush health mail --json | jq .oldest_due_age"""

#: The options that are arguments of `Queue.health`.
_LIMITS: Final = ("stuck_after", "max_waiting", "max_oldest")
#: What a problem means. Without Redis the command ends before.
_MEANINGS: Final = {
    "stuck": "a job has been due for a while, and none has started or finished meanwhile",
    "crowded": "more than {max_waiting} jobs wait for a worker",
    "late": "a job has been due for longer than {max_oldest} ms",
    "disconnected": "Redis does not answer",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("--max-waiting", type=int, metavar="N", help="a problem if more than N jobs wait for a worker")
    parser.add_argument(
        "--max-oldest", type=duration, metavar="TIME", help="a problem if a job has been due for longer than 30s, 10m"
    )
    parser.add_argument(
        "--stuck-after",
        type=duration,
        metavar="TIME",
        help="a problem if a job is due and none has started or finished for this time (default: 1m)",
    )


def run(options: argparse.Namespace) -> int:
    """Print the health. JSON: the fields of `QueueHealth`, with ``healthy``. The exit code is 1 if it is not."""
    limits = {name: value for name in _LIMITS if (value := getattr(options, name)) is not None}
    found = known_queue(options).health(**limits)
    if options.json:
        write_json({**asdict(found), "healthy": found.healthy})
    else:
        problems = [f"{problem}: {_MEANINGS[problem].format_map(vars(options))}" for problem in found.problems]
        write_fields(
            {
                "queue": found.queue,
                "health": "; ".join(problems) or "healthy",
                "paused": "yes" if found.paused else None,
                "limited": "yes" if found.limited else None,
                "active": found.active,
                "waiting": found.waiting,
                "oldest due": _shown(found.oldest_due_age),
                "last start": _ago(found.last_claim_age),
            }
        )
    return 0 if found.healthy else FAILED


def _shown(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else age(0, milliseconds / 1_000)


def _ago(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else f"{_shown(milliseconds)} ago"
