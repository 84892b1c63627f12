"""What ``bullrush migrate`` prints: reports as JSON; for people counts before and after, and what needs a look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from bullrush.cli.terminal.output import jobs_of, say, write, write_json, write_table
from bullrush.cli.terminal.visible import visible
from bullrush.errors import LegacyQueueError
from bullrush.legacy import LegacyQueue
from bullrush.legacy.report import BridgeReport, MigrationReport, Remark, Verification
from bullrush.queue import Queue

_NAMED: Final = 5
#: 3.x and 4.x have the same layout.
_VERSIONS: Final = {"1": "1.x", "2": "2.x", "3": "3.x", "4": "3.x or 4.x"}


class Heading:
    """From where to where."""

    def __init__(self, legacy: LegacyQueue, to: Queue) -> None:
        """Ask the queue of Bull for its version; a queue whose jobs have all moved does not tell it, and need not."""
        flavor = None
        with suppress(LegacyQueueError):
            flavor = legacy.get_flavor()
        self.json = {"queue": legacy.name, "flavor": flavor, "to": {"queue": to.name, "prefix": to.prefix}}
        version = f" {_VERSIONS[flavor]}" if flavor else ""
        self._text = f"{legacy.prefix}:{legacy.name} (Bull{version}) -> {to.prefix}:{to.name}"

    def __str__(self) -> str:
        """Return it as a line."""
        return self._text


def print_migration(
    heading: Heading, report: MigrationReport, before: Mapping[str, int], after: Mapping[str, int], *, as_json: bool
) -> None:
    """Print what was moved.

    Args:
        heading: from where to where.
        report: what the call returned.
        before: the jobs of the target by state, before.
        after: the same, after.
        as_json: print JSON.
    """
    if as_json:
        write_json({**heading.json, **report.to_json(), "target": {"before": dict(before), "after": dict(after)}})
        return
    say(str(heading))
    _print_counts({"Bull before": report.before, "after": report.after}, {"BullMQ before": before, "after": after})
    moved = sum(report.moved.values())
    write(
        f"{jobs_of(moved)} {'would be' if report.dry_run else 'were'} moved, "
        f"{report.renamed:,} of them with a new id; {report.schedulers:,} repeatables as job schedulers."
    )
    _print_remarks("special", report.notes)
    _print_remarks("left", report.left)


def print_verification(heading: Heading, found: Verification, *, as_json: bool) -> None:
    """Print the jobs of both queues by state, and what is left."""
    if as_json:
        write_json({**heading.json, **found.to_json()})
        return
    say(str(heading))
    _print_counts({"Bull": found.legacy}, {"BullMQ": found.target})
    _print_remarks("left", found.left)
    if found.complete:
        write("Nothing is left that still has to run.")


def print_cleanup(legacy: LegacyQueue, removed: int, *, as_json: bool) -> None:
    """Print how many keys were deleted."""
    if as_json:
        write_json({"queue": legacy.name, "removed": removed})
    else:
        write(f"{removed:,} keys of {legacy.prefix}:{legacy.name} deleted.")


def print_bridge(heading: Heading, report: BridgeReport, *, as_json: bool) -> None:
    """Print what was carried over."""
    if as_json:
        write_json({**heading.json, **report.to_json()})
        return
    write(f"{jobs_of(sum(report.moved.values()))} carried over; {report.mirrored:,} outcomes told to Bull.")
    _print_remarks("special", report.notes)


def _print_counts(legacy: Mapping[str, Mapping[str, int]], target: Mapping[str, Mapping[str, int]]) -> None:
    columns: list[tuple[str, Mapping[str, int]]] = [*legacy.items(), *target.items()]
    known = dict.fromkeys(state for _, counts in columns for state in counts)
    states = [state for state in known if any(counts.get(state) for _, counts in columns)]
    rows: list[Sequence[Any]] = [[state, *(counts.get(state) for _, counts in columns)] for state in states]
    write_table(["state", *(title for title, _ in columns)], rows)


def _print_remarks(title: str, remarks: Sequence[Remark]) -> None:
    """Print one line per reason, with the first ids."""
    groups: dict[tuple[str, str], list[str]] = {}
    for remark in remarks:
        groups.setdefault((remark.state, remark.reason), []).append(remark.id)
    for (state, reason), ids in groups.items():
        names = ", ".join(ids[:_NAMED]) + (", ..." if len(ids) > _NAMED else "")
        where = f"{len(ids):,} in {state}" if state else "key"
        write(visible(f"{title}: {where} ({names}): {reason}", line=True))
