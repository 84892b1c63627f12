"""``bullrush workers``: the connected workers of a queue."""

from __future__ import annotations

import argparse

from bullrush.cli.queues.info import workers_of
from bullrush.cli.terminal.options import add_queue, known_queue
from bullrush.cli.terminal.output import say, write_json, write_table
from bullrush.queue import Queue
from bullrush.routing import route_base

EXAMPLES = """\
  bullrush workers mail
  bullrush workers mail --json | jq length
  bullrush workers video --profiles    what the workers have, for jobs with a target"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("--profiles", action="store_true", help="what the workers have, by their ids")


def run(options: argparse.Namespace) -> int:
    """Print the workers. JSON: a list of objects with the fields of Redis' CLIENT LIST; or profiles by id."""
    queue = known_queue(options)
    if options.profiles:
        return _print_profiles(queue, options)
    workers = queue.get_workers()
    if options.json:
        write_json(workers)
    elif not workers:
        base = route_base(options.queue)
        others = workers_of(options, queue) if base else 0
        by_profile = f" {others} of {base!r} take its jobs, since their profile matches." if others else ""
        say(f"No worker of {options.queue!r} is connected.{by_profile}")
    else:
        titles = ["name", "address", "connected for", "idle for"]
        write_table(titles, [[_name(w), w.get("addr"), _seconds(w, "age"), _seconds(w, "idle")] for w in workers])
    return 0


def _print_profiles(queue: Queue, options: argparse.Namespace) -> int:
    profiles = queue.get_profiles()
    if options.json:
        write_json(profiles)
    elif not profiles:
        say(f"No worker of {queue.name!r} has a profile.")
    else:
        write_table(["worker", "profile"], sorted(profiles.items()))
    return 0


def _name(worker: dict[str, str]) -> str | None:
    return worker.get("rawname", "").partition(":w:")[2] or None


def _seconds(worker: dict[str, str], field: str) -> str | None:
    return f"{worker[field]}s" if field in worker else None
