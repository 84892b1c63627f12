"""The arguments of ``bullrush migrate``: what it does, and which options belong to that."""

from __future__ import annotations

import argparse
import os
from typing import Any, Final, get_args

from bullrush.cli.terminal.asking import add_yes
from bullrush.cli.terminal.ending import USAGE, CommandError
from bullrush.cli.terminal.options import add_connection, count
from bullrush.legacy import Flavor, TakenIds

EXAMPLES: Final = """\
  bullrush migrate mail --from redis://old:6379/0 --to-prefix bullmq --dry-run     what would be moved
  bullrush migrate mail --from redis://old:6379/0 --to-prefix bullmq --history 1000
  bullrush migrate mail --to-prefix bullmq --verify                                compare both queues
  bullrush migrate mail --to-prefix bullmq --cleanup                               delete the keys of Bull
  bullrush migrate mail --to-url redis://new:6379/0 --bridge --mirror              carry jobs until Ctrl-C
  bullrush migrate mail --remove 7                                                 remove a job from the queue of Bull
  bullrush migrate mail --forget                                                   free the name for new queues"""

#: What the command does instead of moving once. At most one of them is given.
MODES: Final = ("dry_run", "verify", "cleanup", "bridge", "give_back", "remove", "forget")
#: Those that only the queue of Bull takes part in.
ALONE: Final = ("remove", "forget")

#: The options that say how jobs are moved.
_BOTH: Final = ("merge", "order", "default_name", "keep_backoff", "taken_ids")
MOVING: Final = (*_BOTH, "history", "legacy_workers_stopped", "tz")
BRIDGING: Final = (*_BOTH, "mirror")

CLEANING: Final = ("force",)

_KNOWN: Final = {"move": MOVING, "dry_run": MOVING, "bridge": BRIDGING, "cleanup": CLEANING}
#: Options of one mode only.
_NEEDS: Final = {"mirror": "--bridge", "force": "--cleanup"}
#: Why an option is not for a mode, where that is not plain.
_WHY: Final = {
    ("tz", "bridge"): ": a bridge makes no job schedulers. It adds the next job of a repeatable in the time zone of "
    "its own process, so run it with the environment variable TZ",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("queue", metavar="QUEUE", help="the name of the queue of Bull")
    add_connection(parser, "--from", "--url")
    target = parser.add_argument_group(
        "the queue that gets the jobs; at least one of these, but for --remove and --forget"
    )
    target.add_argument("--to-name", metavar="NAME", help="its name (default: the same)")
    target.add_argument("--to-prefix", metavar="PREFIX", help="its prefix (default: the same)")
    target.add_argument("--to-url", metavar="URL", help="its Redis (default: BULLRUSH_TO_URL, else the same)")
    moving = parser.add_argument_group("how jobs are moved")
    moving.add_argument(
        "--flavor", choices=get_args(Flavor), default="auto", help="the major version of Bull (default: found out)"
    )
    moving.add_argument("--merge", action="store_true", help="into a queue that has jobs already")
    moving.add_argument(
        "--order",
        choices=("keep", "priority"),
        help="keep: they run in the order in which Bull would run them (default); "
        "priority: priorities as BullMQ has them",
    )
    moving.add_argument("--history", type=count, metavar="N", help="also the last N completed and N failed jobs")
    moving.add_argument("--default-name", metavar="NAME", help="the name of jobs without one (default: __default__)")
    moving.add_argument("--keep-backoff", action="store_true", help="exponential backoff keeps the delays of Bull")
    moving.add_argument(
        "--taken-ids",
        choices=get_args(TakenIds),
        help="a job whose id is taken in the new queue stays (skip, the default) or gets the id QUEUE-ID (rename)",
    )
    moving.add_argument("--tz", metavar="ZONE", help="the time zone of cron patterns without one, such as Europe/Paris")
    moving.add_argument(
        "--legacy-workers-stopped",
        action="store_true",
        help="also jobs in active without a lock, as no worker of Bull runs; refused if one does",
    )
    instead = parser.add_argument_group("instead of moving all jobs once").add_mutually_exclusive_group()
    instead.add_argument("--dry-run", action="store_true", help="say what would be moved, and write nothing")
    instead.add_argument("--verify", action="store_true", help="compare both queues, and name what is left")
    instead.add_argument(
        "--cleanup",
        action="store_true",
        help="delete the keys of Bull and its finished jobs, if nothing is left to run",
    )
    instead.add_argument("--bridge", action="store_true", help="carry new jobs over until Ctrl-C or SIGTERM")
    instead.add_argument(
        "--give-back",
        action="store_true",
        help="give jobs that an interrupted move has claimed back to Bull; those that have moved stay where they are",
    )
    instead.add_argument(
        "--remove", metavar="ID", help="remove a job from the queue of Bull, such as one that cannot move"
    )
    instead.add_argument(
        "--forget",
        action="store_true",
        help="remove the signpost that a move leaves: other programs may use the name again",
    )
    moving.add_argument(
        "--mirror", action="store_true", help="with --bridge: tell callers that wait for jobs of Bull how they ended"
    )
    add_yes(parser)
    parser.add_argument(
        "--force", action="store_true", help="with --cleanup --yes: also while programs with Bull are connected"
    )


def mode_of(options: argparse.Namespace) -> str:
    """Return what to do: ``move``, or one of `MODES`.

    Raises:
        CommandError: no target for a mode that needs one, or an option that this mode does not know.
    """
    mode = next((mode for mode in MODES if getattr(options, mode)), "move")
    if mode not in ALONE and not (options.to_name or options.to_prefix or to_url(options)):
        raise CommandError("say where the jobs go, by --to-name, --to-prefix or --to-url", USAGE)
    for name in dict.fromkeys((*MOVING, *BRIDGING, *CLEANING)):
        if getattr(options, name) and name not in _KNOWN.get(mode, ()):
            with_it = f"needs {_NEEDS[name]}" if name in _NEEDS else f"does not go together with {_option(mode)}"
            raise CommandError(f"{_option(name)} {with_it}{_WHY.get((name, mode), '')}", USAGE)
    return mode


def to_url(options: argparse.Namespace) -> str | None:
    """Return the URL of the target's Redis, or None for that of the queue of Bull."""
    return options.to_url or os.environ.get("BULLRUSH_TO_URL") or None


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return those of the options that were given, by name."""
    return {name: value for name in names if (value := getattr(options, name))}


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
