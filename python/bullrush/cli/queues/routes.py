"""``bullrush routes``: what waits for certain workers, and whether there are any."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from bullrush.cli.terminal.options import add_queue, known_queue
from bullrush.cli.terminal.output import say, write_json, write_table

EXAMPLES = """\
  bullrush routes video
  bullrush routes video --json | jq '.[] | select(.unmatched) | .queue'"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)


def run(options: argparse.Namespace) -> int:
    """Print the routes. JSON: a list of the fields of `RouteStatus`, with ``unmatched``."""
    found = known_queue(options).route_status()
    if options.json:
        write_json([{**asdict(route), "unmatched": route.unmatched} for route in found])
    elif not found:
        say(f"No job of {options.queue!r} had a target yet.")
    else:
        rows = [
            [
                route.queue,
                route.target,
                route.waiting,
                route.active,
                _seconds(route.oldest_age),
                route.workers,
            ]
            for route in found
        ]
        write_table(["route", "target", "waiting", "active", "oldest", "workers"], rows)
        for route in found:
            if route.unmatched:
                say(f"No worker takes the jobs of {route.queue}.")
    return 0


def _seconds(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else f"{milliseconds // 1_000:,}s"
