"""What a command for queues of BullMQ says of a queue of Bull: which commands and calls take it as it is."""

from __future__ import annotations

import argparse
import shlex
from typing import Final

from bullrush.cli.terminal.ending import CommandError, code_of
from bullrush.cli.terminal.options import url_of
from bullrush.errors import LegacyQueueError
from bullrush.extending import run_blocking
from bullrush.legacy import LegacyStatus, advice, look_at
from bullrush.masking import masked
from bullrush.url import DEFAULT_URL

#: The calls of `LegacyQueue` that do what a command does, by its words.
_CALLS: Final = {
    "add": ("add",),
    "counts": ("get_job_counts",),
    "logs": ("get_job_logs",),
    "schedulers": ("get_repeatables", "remove_repeatable"),
    "jobs list": ("get_jobs",),
    "jobs show": ("get_job", "get_job_state"),
    "jobs retry": ("retry",),
    "jobs remove": ("remove",),
    "why": ("get_job", "get_job_state"),
    "failures": ("get_jobs",),
}


def as_advice(error: LegacyQueueError, options: argparse.Namespace) -> Exception:
    """Return an error that says what can be done with the queue of a command; the error itself if it is not Bull's."""
    name = getattr(options, "queue", None)
    if options.command == "migrate" or not isinstance(name, str):
        return error
    status = run_blocking(look_at(name, url_of(options), options.prefix, options.timeout))
    if status is None or status.kind != "bull":
        return error
    return CommandError(_advice(status, options), code_of(error))


def _advice(status: LegacyStatus, options: argparse.Namespace) -> str:
    words = f"{options.command} {getattr(options, 'verb', None) or ''}".strip()
    migrate = _command(status, options, "migrate", "--from")
    said = advice(
        status,
        "this command is",
        "use this command",
        count=_command(status, options, "info", "--url"),
        move=migrate,
        calls=_CALLS.get(words, ()),
        more=f", and `{migrate} --remove ID` removes a job" if words == "jobs remove" else "",
    )
    return f"{said}; then add `--prefix bullmq` here. Nothing was changed"


def _command(status: LegacyStatus, options: argparse.Namespace, command: str, url_option: str) -> str:
    words = ["bullrush", command, status.name]
    words += ["--prefix", status.prefix] if status.prefix != "bull" else []
    url = url_of(options)
    return shlex.join([*words, *([url_option, masked(url)] if url != DEFAULT_URL else [])])
