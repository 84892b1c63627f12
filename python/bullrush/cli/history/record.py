"""``bullrush record``: writes what happens to jobs into a file."""

from __future__ import annotations

import argparse
import re
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Final

from bullrush.cli.terminal.ending import CommandError
from bullrush.cli.terminal.live import LiveLine
from bullrush.cli.terminal.options import add_connection, checked_url, duration
from bullrush.cli.terminal.output import moment, say, write_json, write_table
from bullrush.cli.terminal.signals import until_signal
from bullrush.recorder import MOST_BYTES, History, Recorder
from bullrush.url import address

EXAMPLES = """\
  bullrush record                                  all queues, into bullrush-history.db, until Ctrl-C
  bullrush record --file /var/lib/jobs/history.db --max-size 1gb
  bullrush record redis://10.0.0.5:6379 --queue mail --queue video
  bullrush record --mask password                  'password=...' in names and reasons is not written whole
  bullrush record --mask-text '\\d{4}-\\d{4}'        what this matches there is not written, either"""

#: Where `record` writes and `history` reads.
FILE: Final = "bullrush-history.db"
_UNITS: Final = {"": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("server", nargs="?", metavar="URL", help="the URL of Redis; the same as --url")
    parser.add_argument("--file", default=FILE, metavar="FILE", help=f"where to write (default: {FILE})")
    parser.add_argument(
        "--queue",
        action="append",
        metavar="NAME",
        help="only this queue; give it again for more (default: all of the prefix, also later ones)",
    )
    parser.add_argument(
        "--max-size",
        type=_size,
        default=MOST_BYTES,
        metavar="SIZE",
        help="how large the file may grow (default: 256mb); successes leave first, failures last",
    )
    parser.add_argument(
        "--mask",
        action="append",
        default=[],
        metavar="FIELD",
        help="write *** instead of what follows this name in names and reasons, as in FIELD=...; may be repeated",
    )
    parser.add_argument(
        "--mask-text",
        action="append",
        default=[],
        metavar="REGEX",
        help="write *** instead of what this matches in names and reasons; may be repeated",
    )
    parser.add_argument("--for", dest="length", type=duration, metavar="TIME", help="end after 30s, 10m, 2h...")
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Record until Ctrl-C. JSON, at the end: ``{"file", "queues": {name: fields of Remembered}}``."""
    url = checked_url(options.server or options.url)
    with Recorder(
        options.file,
        url,
        prefix=options.prefix,
        queues=options.queue,
        max_bytes=options.max_size,
        mask=options.mask,
        mask_text=options.mask_text,
    ) as recorder:
        say(f"recording {address(url)} into {options.file} until Ctrl-C or SIGTERM")
        end = None if options.length is None else threading.Timer(options.length / 1_000, recorder.stop)
        if end is not None:
            end.daemon = True
            end.start()
        try:
            with LiveLine(_teller(recorder)):
                until_signal(recorder.run, recorder.stop)
        except sqlite3.Error as error:
            raise CommandError(f"{options.file} cannot be written: {error}") from None
    _summarize(options)
    return 0


def _teller(recorder: Recorder) -> Callable[[], str]:
    """Return what says how the recorder goes, of the time since it was asked last."""
    before, at = recorder.progress(), time.monotonic()

    def tell() -> str:
        nonlocal before, at
        now, seen = time.monotonic(), recorder.progress()
        events, kept = seen.events - before.events, seen.kept - before.kept
        speed = events / max(now - at, 0.001)
        before, at = seen, now
        share = f" ({kept / events:.0%} kept)" if events else ""
        gaps = "1 gap" if seen.gaps == 1 else f"{seen.gaps:,} gaps"
        return f"{speed:,.0f} events/s{share}, {gaps}, {seen.bytes / (1 << 20):.1f} MB"

    return tell


def _summarize(options: argparse.Namespace) -> None:
    """Print what the file knows of each queue."""
    with History(options.file) as history:
        known = {name: found for name in history.queues() if (found := history.remembered(name)) is not None}
    if options.json:
        write_json({"file": options.file, "queues": {name: vars(found) for name, found in known.items()}})
    elif not known:
        say("There was no queue to record.")
    else:
        rows = [[name, moment(found.since), len(found.gaps), found.share] for name, found in known.items()]
        write_table(["queue", "recorded since", "gaps", "one job of"], rows)


def _size(text: str) -> int:
    """Return the bytes of a size such as 64mb or 1gb."""
    found = re.fullmatch(r"(\d+)(kb|mb|gb|)", text.strip().lower())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: write bytes as a number, or 64mb, 1gb")
    return int(found[1]) * _UNITS[found[2]]
