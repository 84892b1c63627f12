"""``bullrush events``: follows the event stream of a queue."""

from __future__ import annotations

import argparse
import sys
import time

from bullrush.cli.terminal.options import add_queue, count, duration, known_queue, url_of
from bullrush.cli.terminal.output import cell, compact, write, write_json
from bullrush.cli.terminal.visible import visible
from bullrush.events import Event, QueueEvents

EXAMPLES = """\
  bullrush events mail                    new events; Ctrl-C ends it
  bullrush events mail --since 10m        also those of the last 10 minutes
  bullrush events mail --only failed --only stalled
  bullrush events mail --json | jq 'select(.event == "failed") | .jobId'"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("--since", type=duration, metavar="TIME", help="begin with the events of the last 10m, 2h...")
    parser.add_argument("--only", action="append", metavar="EVENT", help="only completed, failed...; may be repeated")
    parser.add_argument("--job", metavar="ID", help="only the events of this job")
    parser.add_argument("-n", "--limit", type=count, metavar="N", help="end after N events")


def run(options: argparse.Namespace) -> int:
    """Print events until Ctrl-C. JSON: one object per line, with ``id``, ``event`` and the fields of the stream."""
    known_queue(options)
    start = "$" if options.since is None else f"{round(time.time() * 1_000) - options.since}-0"
    left = options.limit
    with QueueEvents(options.queue, url=url_of(options), prefix=options.prefix, last_event_id=start) as events:
        events.wait_until_ready()
        for event in events:
            if (options.only and event.event not in options.only) or (options.job and event.job_id != options.job):
                continue
            _print(event, as_json=options.json)
            if left is not None and (left := left - 1) == 0:
                break
    return 0


def _print(event: Event, *, as_json: bool) -> None:
    if as_json:
        write_json({"id": event.id, **event}, line=True)
        return
    rest = {name: event[name] for name in event if name not in {"event", "jobId"}}
    clock = time.strftime("%H:%M:%S", time.localtime(int(event.id.partition("-")[0]) / 1_000))
    name, job_id = visible(event.event, line=True), visible(event.job_id or "-", line=True)
    write(f"{clock}  {name:<17}  {job_id:<12}  {cell(compact(rest)) if rest else ''}".rstrip())
    sys.stdout.flush()
