"""``bullrush migrate``: moves the jobs of Bull, compares both queues, cleans up, or carries new jobs over."""

from __future__ import annotations

import argparse

from bullrush.cli.migrate import printing
from bullrush.cli.migrate.arguments import BRIDGING, EXAMPLES, MOVING, configure, given, mode_of, to_url
from bullrush.cli.migrate.bridging import until_signal
from bullrush.cli.terminal.bar import Bar
from bullrush.cli.terminal.ending import FAILED
from bullrush.cli.terminal.options import checked_url, url_of
from bullrush.cli.terminal.output import say
from bullrush.legacy import LegacyQueue
from bullrush.queue import Queue

__all__ = ["EXAMPLES", "configure", "run"]


def run(options: argparse.Namespace) -> int:
    """Do it. JSON: the report of the call of the same name, with ``queue``, ``flavor`` and ``to``."""
    mode = mode_of(options)
    source, target = url_of(options), to_url(options)
    legacy = LegacyQueue(
        options.queue, url=source, prefix=options.prefix, flavor=options.flavor, timeout=options.timeout
    )
    to = Queue(
        options.to_name or options.queue,
        url=source if target is None else checked_url(target),
        prefix=options.to_prefix or options.prefix,
        timeout=options.timeout,
        skip_metas_update=mode not in {"move", "bridge"},
    )
    with legacy, to:
        return _MODES[mode](legacy, to, options)


def _move(legacy: LegacyQueue, to: Queue, options: argparse.Namespace) -> int:
    heading = printing.Heading(legacy, to)
    before = to.get_job_counts()
    with Bar("checked" if options.dry_run else "moved") as bar:
        report = legacy.migrate(
            to,
            **given(options, *MOVING),
            dry_run=options.dry_run,
            on_progress=lambda progress: bar.show(progress.moved, progress.total),
        )
    printing.print_migration(heading, report, before, to.get_job_counts(), as_json=options.json)
    return 0 if report.complete else FAILED


def _verify(legacy: LegacyQueue, to: Queue, options: argparse.Namespace) -> int:
    found = legacy.verify(to)
    printing.print_verification(printing.Heading(legacy, to), found, as_json=options.json)
    return 0 if found.complete else FAILED


def _clean_up(legacy: LegacyQueue, to: Queue, options: argparse.Namespace) -> int:
    printing.print_cleanup(legacy, legacy.cleanup(to), as_json=options.json)
    return 0


def _bridge(legacy: LegacyQueue, to: Queue, options: argparse.Namespace) -> int:
    heading = printing.Heading(legacy, to)
    say(f"{heading}: carrying jobs over until Ctrl-C or SIGTERM")
    with Bar("carried over") as bar:
        report = until_signal(
            lambda: legacy.bridge(
                to,
                **given(options, *BRIDGING),
                on_progress=lambda progress: bar.show(progress.moved),
            ),
            legacy.close,
        )
    printing.print_bridge(heading, report, as_json=options.json)
    return 0


_MODES = {"move": _move, "dry_run": _move, "verify": _verify, "cleanup": _clean_up, "bridge": _bridge}
