"""``bullrush worker``: its arguments, and what they start."""

from __future__ import annotations

import argparse
import os
from typing import Final

from bullrush.cli.terminal.ending import USAGE, CommandError
from bullrush.cli.terminal.options import count
from bullrush.cli.worker.profile import read_profile
from bullrush.cli.worker.queues import check_queues, read_queue

EXAMPLES: Final = """\
  bullrush worker app.jobs:tasks                         # a registry of tasks, or a Worker
  bullrush worker app.mail:send -Q mail -c 20            # a function, or a dict of functions by job name
  bullrush worker app.mail:send -Q mail=20:4 -Q reminders=2 # mail gets four of five turns
  bullrush worker app:mail app:video -c 8 -Q mail:4 -Q video # two registries share 8 slots
  bullrush worker app.jobs:tasks --profile '{"capabilities": ["gpu"]}' --routes-only
  bullrush worker app.jobs:tasks -p 4 --health-port 8000
  bullrush worker app.jobs:tasks --check                 # import, connect, say what would run
  bullrush worker app.jobs:tasks --reload                # while you develop"""

#: The URL that a supervisor was given, for its processes.
_URL: Final = "BULLRUSH_WORKER_URL"

_EPILOG: Final = """
            4 jobs were left running, by a second signal or --shutdown-timeout

The first SIGTERM or SIGINT takes no more jobs and waits for the running ones. A second one ends the process within a
second; the running jobs run again, on any worker."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = (parser.epilog or "") + _EPILOG
    add = parser.add_argument
    add("targets", nargs="+", metavar="module:object",
        help="a Tasks, a Worker or a list of them, a function, or a dict of functions")  # fmt: skip
    add_options(parser)
    add("--url", help="the URL of Redis (default: that of the target, BULLRUSH_URL, REDIS_URL)")
    add("--prefix", help="the prefix of all keys (default: that of the target, or bull)")
    add("--name", type=_name,
        help="what other programs call these workers, such as the name of the pod; "
        "with -p N also the number of the process")  # fmt: skip
    add("--profile", type=read_profile, metavar="JSON|FILE",
        help="what this machine has, for jobs with a target: a JSON object, or a file with one")  # fmt: skip
    add("--routes-only", action="store_true", help="with --profile: take only jobs that have a target")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the workers run; ``manage.py bullrush_worker`` of Django has the same."""
    add = parser.add_argument
    add("-Q", "--queue", action="append", default=[], type=read_queue, metavar="NAME[=N][:WEIGHT]", dest="queues",
        help="run this queue only, N jobs at a time; the queue of a function or dict; can be repeated, and then the "
        "queues of one function, or of registries if one has a weight, share slots and turns (weight: 1)")  # fmt: skip
    add(
        "-c",
        "--concurrency",
        type=count,
        metavar="N",
        help="jobs at a time per process, of each target (default: as the target says, or 1 per queue)",
    )
    add("-p", "--processes", type=count, default=1, metavar="N", help="processes; one that dies is replaced")
    add("--max-jobs", type=count, metavar="N",
        help="replace a process after N jobs of a target, for handlers that lose memory")  # fmt: skip
    add("--burst", action="store_true", help="exit when no job can be taken now; delayed jobs stay")
    add("--reload", action="store_true", help="restart when a Python file changes; needs 'bullrush[reload]'")
    add("--check", action="store_true", help="import, connect, say what would run, and exit")
    add("--shutdown-timeout", type=_seconds, metavar="SECONDS",
        help="after the first signal, leave jobs that run longer than this (default: wait)")  # fmt: skip
    add("--health-port", type=_address, metavar="[HOST:]PORT",
        help="serve /healthz, /readyz and /metrics over HTTP to this machine, with 0.0.0.0:PORT to others")  # fmt: skip
    add("--log-level", type=str.upper, default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR"),
        help="DEBUG, INFO, WARNING or ERROR (default: INFO)")  # fmt: skip
    add("--log-json", action="store_true", help="one JSON object per line")
    # The number of a socket: the supervisor's line to this process.
    add("--control", type=int, help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Run the workers; return the exit code.

    Raises:
        CommandError: a target cannot be imported or run.
    """
    for target in options.targets:
        module, _, name = target.partition(":")
        if not module or not name:
            raise CommandError(f"{target!r} is no target: write module:object, such as app.jobs:tasks", USAGE)
    if options.burst and (options.reload or options.max_jobs):
        raise CommandError(f"{'--reload' if options.reload else '--max-jobs'} and --burst exclude each other", USAGE)
    check_queues(options.queues)
    if getattr(options, "routes_only", False) and options.profile is None:
        raise CommandError('--routes-only needs --profile, such as --profile \'{"capabilities": ["gpu"]}\'', USAGE)
    # Imported here: --help needs none of it.
    from bullrush.cli.worker.logs import set_up_logs

    # Before the targets are imported, whose own configuration then takes precedence.
    set_up_logs(options.log_level, as_json=options.log_json)
    needs_supervisor = options.processes > 1 or options.reload or options.max_jobs
    if needs_supervisor and not options.check and options.control is None:
        from bullrush.cli.worker.processes.supervisor import Supervisor

        if options.url:
            # Not as an argument of the processes: everybody on this machine can see those.
            os.environ[_URL] = options.url
        return Supervisor(options).run()
    supervisor = None
    if options.control is not None:
        from bullrush.cli.worker.processes.control import ControlClient

        # Before the targets are imported, which may take long, or for ever.
        supervisor = ControlClient(options.control)
        options.url = os.environ.pop(_URL, None)
    from bullrush.cli.worker.targets import find_workers

    workers = find_workers(options)
    if options.check:
        from bullrush.cli.worker.check import check

        return check(workers)
    from bullrush.cli.worker.serve import Process

    return Process(workers, options, supervisor).run()


def _name(text: str) -> str:
    # Redis takes no other name of a connection.
    if not text or any(not "!" <= letter <= "~" for letter in text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name: it must have letters of ASCII and no spaces")
    return text


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port, and not HOST:PORT")
    # As in URLs, the address of IPv6 stands in brackets. The pages have no password: others only see them when asked.
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return seconds
