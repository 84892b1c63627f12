"""``bullrush doctor``: looks for what is wrong with a server and its queues, and says what to do."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bullrush.cli.terminal.asking import add_yes, confirm
from bullrush.cli.terminal.ending import FAILED, NO_REDIS, USAGE, CommandError
from bullrush.cli.terminal.options import add_connection, url_of
from bullrush.cli.terminal.output import cell, say, write, write_json
from bullrush.errors import BullrushError, RedisServerError
from bullrush.extending import check_prefix, check_queue_name
from bullrush.rights import read_roles
from bullrush.url import address, given_url

if TYPE_CHECKING:
    from bullrush.doctor import Doctor, Finding, Report

EXAMPLES = """\
  bullrush doctor                                    the server and all queues, in less than 5 seconds
  bullrush doctor redis://10.0.0.5:6379/0 --deep     also every job, some seconds per million
  bullrush doctor --queue mail --queue video         only these two
  bullrush doctor --fix                              repairs what is safe to repair, asks first
  bullrush doctor --strict --json                    for CI: warnings are faults, too"""

_INDENT: Final = "         "


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("server", nargs="?", metavar="URL", help="the URL of Redis; the same as --url")
    parser.add_argument(
        "--queue",
        action="append",
        default=[],
        metavar="QUEUE",
        help="only this queue, with its routes; may be repeated",
    )
    parser.add_argument(
        "--role",
        action="append",
        choices=tuple(read_roles()),
        help="what the user of the URL is for; may be repeated (default: producer and worker)",
    )
    parser.add_argument(
        "--machine", action="store_true", help="also look for what embedded servers have left on this machine"
    )
    parser.add_argument("--deep", action="store_true", help="also read every job of the queues")
    parser.add_argument("--fix", action="store_true", help="repair what is safe to repair")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="a warning, or a check that cannot be made, is a fault, too, for the exit code",
    )
    add_yes(parser)
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Examine, repair if that was asked for, and print the findings. The exit code is 1 if a fault is left.

    JSON: ``{"healthy": bool, "complete": bool, "queues": [name], "findings": [FindingJson], "skipped": [text], "error":
        text or null}``.
    """
    from bullrush.doctor import Report

    report = Report()
    try:
        from bullrush.doctor import Doctor

        if options.server and options.url:
            raise CommandError("give the URL once, as URL or as --url", USAGE)
        options.url = options.server or options.url
        for name in options.queue:
            check_queue_name(name)
        roles = {"roles": options.role} if options.role else {}
        machine = options.machine or given_url(options.url).startswith("embedded:")
        url, prefix = url_of(options), check_prefix(options.prefix)
        doctor = Doctor(url, prefix, timeout=options.timeout, machine=machine, **roles)
        first = doctor.examine(options.queue, deep=options.deep, report=report)
        left = first
        if options.fix and _repaired(doctor, first.findings, options):
            report = Report()
            left = doctor.examine(options.queue, deep=options.deep, report=report)
    except (BullrushError, CommandError, KeyboardInterrupt) as error:
        if options.json:
            _write_json([(finding, False) for finding in report.findings], report, options, error)
        if isinstance(error, RedisServerError):
            # It lets nobody look: a refusal of a single check is no error.
            raise CommandError(str(error), NO_REDIS) from None
        raise
    # What has passed by itself meanwhile was not repaired.
    fixed = [(finding, True) for finding in first.findings if finding.fixable and not left.has(finding)]
    findings = [*fixed, *((finding, False) for finding in left.findings)]
    if options.json:
        _write_json(findings, left, options)
    else:
        _print(findings, left, address(url_of(options)))
    return 0 if _is_healthy(left, options) else FAILED


def _is_healthy(report: Report, options: argparse.Namespace) -> bool:
    if options.strict:
        return not report.findings and not report.skipped
    return not any(finding.severity == "fault" for finding in report.findings)


def _write_json(
    findings: Sequence[tuple[Finding, bool]],
    report: Report,
    options: argparse.Namespace,
    error: BaseException | None = None,
) -> None:
    write_json(
        {
            "healthy": error is None and _is_healthy(report, options),
            "complete": error is None and not report.skipped,
            "queues": report.queues,
            "findings": [finding.to_json(fixed=done) for finding, done in findings],
            "skipped": report.skipped,
            "error": None if error is None else str(error) or "interrupted",
        }
    )


def _repaired(doctor: Doctor, findings: Sequence[Finding], options: argparse.Namespace) -> bool:
    """Repair what is safe to repair; tell whether something was done."""
    repairable = [finding for finding in findings if finding.fixable]
    if not repairable:
        return False
    for finding in repairable:
        say(f"{finding.code}  {_of(finding)}{finding.about.title}: --fix {finding.about.repair}.")
    confirm(options, f"Repair {len(repairable)} finding{'s' if len(repairable) > 1 else ''}?")
    for finding in repairable:
        if (reason := doctor.repair(finding)) is not None:
            say(f"{finding.code}  {_of(finding)}not repaired: {reason}")
    return True


def _print(findings: Sequence[tuple[Finding, bool]], report: Report, place: str) -> None:
    from bullrush.doctor import counted

    for finding, fixed in findings:
        kind = "fixed" if fixed else finding.severity
        write(f"{kind:8} {finding.code}  {_of(finding)}{finding.about.title}: {finding.detail}{_ids(finding)}")
        if not fixed:
            also = " --fix does it." if finding.fixable else ""
            write(f"{_INDENT}{finding.advice}.{also}")
    for text in report.skipped:
        say(f"not checked: {text}")
    left = [finding.severity for finding, fixed in findings if not fixed]
    found = " and ".join(counted(left.count(kind), kind) for kind in ("fault", "warning") if kind in left)
    but = f"; {counted(len(report.skipped), 'check')} could not be made" if report.skipped else ""
    write(f"{found or 'No faults'} at {place}, {counted(len(report.queues), 'queue')}{but}.")


def _ids(finding: Finding) -> str:
    shown = finding.to_json()["ids"]
    # Those of a server are rights, which the detail has.
    if not shown or finding.code < "BR1":
        return ""
    more = ", ..." if len(finding.ids) > len(shown) else ""
    return f" ({'' if finding.queue is None else 'ids: '}{', '.join(shown)}{more})"


def _of(finding: Finding) -> str:
    return "" if finding.queue is None else f"{cell(finding.queue)}: "
