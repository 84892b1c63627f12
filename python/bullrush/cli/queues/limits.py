"""``bullrush limits``: shows the limits of a queue that hold for all its workers, and changes them."""

from __future__ import annotations

import argparse
from typing import Final

from bullrush.cli.terminal.options import add_new, add_queue, count, duration, known_queue
from bullrush.cli.terminal.output import write_fields, write_json
from bullrush.queue import Queue

EXAMPLES = """\
  bullrush limits mail                       what holds now
  bullrush limits mail --concurrency 4       at most 4 jobs are active, over all workers
  bullrush limits mail --rate 100/1m         at most 100 jobs start per minute
  bullrush limits mail --concurrency none --rate none"""

_NONE: Final = "none"


def _concurrency(text: str) -> int | str:
    return _NONE if text == _NONE else count(text)


def _rate(text: str) -> tuple[int, int] | str:
    """Return how many jobs may start, and in how many ms."""
    if text == _NONE:
        return _NONE
    most, slash, time = text.partition("/")
    if not slash:
        raise argparse.ArgumentTypeError(f"{text!r} is no rate: write a number and a time, such as 100/1m")
    # 10/s is read as 10/1s.
    return count(most), duration(time if time[:1].isdigit() else f"1{time}")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    add_new(parser)
    parser.add_argument(
        "--concurrency", type=_concurrency, metavar="N|none", help="so many jobs may be active, over all workers"
    )
    parser.add_argument(
        "--rate", type=_rate, metavar="N/TIME|none", help="so many jobs may start in a time such as 1s, 10m or 1h"
    )


def run(options: argparse.Namespace) -> int:
    """Change what is given, and print the limits. JSON: ``{"queue": name, "concurrency": n, "rate": {...}}``."""
    queue = known_queue(options)
    _change(queue, options)
    concurrency, rate = queue.get_global_concurrency(), queue.get_global_rate_limit()
    if options.json:
        write_json({"queue": queue.name, "concurrency": concurrency, "rate": None if rate is None else dict(rate)})
    else:
        write_fields(
            {
                "queue": queue.qualified_name,
                "concurrency": "no limit" if concurrency is None else concurrency,
                "rate": "no limit" if rate is None else f"{rate['max']:,} per {rate['duration']:,} ms",
            }
        )
    return 0


def _change(queue: Queue, options: argparse.Namespace) -> None:
    if options.concurrency == _NONE:
        queue.remove_global_concurrency()
    elif options.concurrency is not None:
        queue.set_global_concurrency(options.concurrency)
    if options.rate == _NONE:
        queue.remove_global_rate_limit()
    elif options.rate is not None:
        queue.set_global_rate_limit(*options.rate)
