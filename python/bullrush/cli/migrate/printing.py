"""What ``bullrush migrate`` prints: reports as JSON; for people counts before and after, and what needs a look."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, Final

from bullrush.cli.migrate.refusals import in_options
from bullrush.cli.terminal.output import jobs_of, say, write, write_json, write_table
from bullrush.cli.terminal.visible import visible
from bullrush.errors import LegacyQueueError
from bullrush.legacy import (
    BridgeReport,
    GivenBack,
    LegacyClient,
    LegacyQueue,
    LegacyUse,
    MigrationReport,
    Remark,
    Signpost,
    Verification,
    naming_server,
    new_ids,
    place,
)
from bullrush.masking import masked
from bullrush.queue import Queue

_NAMED: Final = 5
#: `LegacyQueue.verify` lists so many jobs of a state.
_LISTED: Final = 1000
#: 3.x and 4.x have the same layout.
_VERSIONS: Final = {"1": "1.x", "2": "2.x", "3": "3.x", "4": "3.x or 4.x"}
_FINISHED: Final = ("completed", "failed")
_UNSEEN: Final = "Redis does not show producers of Bull 3.x and 4.x that add nothing: are all of them changed?"
_DIFFERENCES: Final = {
    "priority": "the priority would be forgotten, since they keep the order of Bull. --order priority keeps it.",
    "backoff": "exponential back-off would wait 1, 2, 4, 8 times the delay, where Bull waits 1, 3, 7, 15 times. "
    "--keep-backoff keeps that.",
    "strategy": "every worker of the new queue would need the option backoff_strategy=bullrush.legacy.bull_backoff. "
    "One without it does not retry them.",
    "max_backoff": "a back-off would be longer than an hour. A worker of bullrush waits no longer than max_backoff, by "
    "default an hour: Worker(max_backoff=None) has no limit.",
}
#: What a migrator empties. Active jobs are named one by one.
_TO_RUN: Final = ("waiting", "paused", "delayed")


class Heading:
    """From where to where."""

    def __init__(self, legacy: LegacyQueue, to: Queue, source_url: str, target_url: str) -> None:
        """Take both queues, and where they are. Passwords are not shown."""
        self.to: dict[str, str] = {"queue": to.name, "prefix": to.prefix}
        self.json: dict[str, Any] = {"queue": legacy.name, "flavor": None, "to": self.to}
        self.target_url: str | None = None if place(source_url) == place(target_url) else masked(target_url)
        self._urls = source_url, target_url
        self._source, self._target = legacy.qualified_name, to.qualified_name
        if self.target_url is not None:
            self._source += f" at {'/'.join(place(source_url))}"
            self._target += f" at {'/'.join(place(target_url))}"
        self._at_source = ["--prefix", legacy.prefix]
        if self.target_url is not None:
            self._at_source += ["--from", masked(source_url)]

    def naming_source(self) -> AbstractContextManager[None]:
        """Let errors of Redis name the server of Bull, if there are two and they name none."""
        return nullcontext() if self.target_url is None else naming_server(self._urls[0])

    def naming_target(self) -> AbstractContextManager[None]:
        """Let errors of Redis name the server of the new queue, if there are two."""
        return nullcontext() if self.target_url is None else naming_server(self._urls[1])

    def find_out(self, legacy: LegacyQueue) -> None:
        """Ask the queue of Bull for its version; a queue whose jobs have all moved does not tell it, and need not."""
        with suppress(LegacyQueueError):
            flavor = self.json["flavor"] = legacy.get_flavor()
            self._source += f" (Bull {_VERSIONS[flavor]})"

    def __str__(self) -> str:
        """Return it as a line."""
        return f"{self._source} -> {self._target}"

    def at_target(self, *command: str) -> str:
        """Return a command about the new queue."""
        more = ["--prefix", self.to["prefix"]]
        return shlex.join([*command, *(more if self.target_url is None else [*more, "--url", self.target_url])])

    @property
    def verifying(self) -> str:
        """The command that names what is left."""
        words = ["bullrush", "migrate", self.json["queue"], *self._at_source]
        words += ["--to-prefix", self.to["prefix"], "--to-name", self.to["queue"]]
        words += [] if self.target_url is None else ["--to-url", self.target_url]
        return shlex.join([*words, "--verify"])

    def removing(self, id: str) -> dict[str, str]:
        """Return the commands that remove a job from the new queue, where its id is taken, and from that of Bull."""
        there = new_ids("l-")(id)[0]
        return {
            "there": self.at_target("bullrush", "jobs", "remove", self.to["queue"], there),
            "here": shlex.join(["bullrush", "migrate", self.json["queue"], "--remove", id, *self._at_source]),
        }


class Result:
    """What a migration did to both queues.

    Args:
        report: what the call returned.
        before: the jobs of the target by state, before.
        after: the same, after.
        paused: the target is paused.
    """

    report: MigrationReport
    paused: bool
    before: dict[str, int]
    after: dict[str, int]

    def __init__(
        self, report: MigrationReport, before: Mapping[str, int], after: Mapping[str, int], *, paused: bool
    ) -> None:
        self.report, self.paused = report, paused
        self.before, self.after = dict(before), dict(after)
        self.json: dict[str, Any] = {"before": self.before, "after": self.after, "paused": paused}

    @property
    def came(self) -> int:
        """How many jobs wait that were not left over: they came when the migration had looked already."""
        if self.report.dry_run:
            return 0
        left = sum(remark.state in _TO_RUN for remark in self.report.left)
        return max(0, sum(self.report.after[state] for state in _TO_RUN) - left)

    @property
    def complete(self) -> bool:
        """Whether no job is left that still has to run."""
        return self.report.complete and not self.came

    @property
    def finished(self) -> dict[str, int]:
        """The finished jobs that stay, by state."""
        moved = self.report.moved if self.report.dry_run else {}
        return {state: self.report.after[state] - moved.get(state, 0) for state in _FINISHED}


def finished_of(counts: Mapping[str, int]) -> str:
    """Return the finished jobs in words, such as ``1 completed and 2 failed jobs``; "" for none."""
    there = {state: counts[state] for state in _FINISHED if counts[state]}
    noun = "job" if sum(there.values()) == 1 else "jobs"
    return " and ".join(f"{count:,} {state}" for state, count in there.items()) + f" {noun}" if there else ""


def _stay(finished: str) -> str:
    return "stays" if finished.endswith(" job") else "stay"


def print_migration(heading: Heading, result: Result, *, as_json: bool) -> None:
    """Print what was moved, or would be.

    Args:
        heading: from where to where.
        result: what it did.
        as_json: print JSON.
    """
    report = result.report
    if as_json:
        more = {"complete": result.complete, "came": result.came, "target": result.json}
        write_json({**heading.json, **report.to_json(), **more})
        return
    say(str(heading))
    _print_counts(
        {"Bull before": report.before, "after": report.after},
        {"BullMQ before": result.before, "after": result.after},
    )
    write(_summary(report))
    for difference, count in report.differences.items():
        write(f"{jobs_of(count)}: {_DIFFERENCES[difference]}")
    _print_remarks(heading, "special", report.notes)
    _print_remarks(heading, "left", report.left)
    if finished := finished_of(result.finished):
        write(f"{finished} {_stay(finished)}: --history N moves the newest N of each, --cleanup deletes them.")
    if result.came:
        write(f"{jobs_of(result.came)} came meanwhile: run it again, or use --bridge.")
    if result.paused and not report.dry_run:
        write(f"The new queue is paused: {heading.at_target('bullrush', 'resume', heading.to['queue'])}")


def _summary(report: MigrationReport) -> str:
    moved, one = sum(report.moved.values()), report.schedulers == 1
    verb = "would be" if report.dry_run else "was" if moved == 1 else "were"
    taken = f" ({report.taken:,} found their id taken)" if report.taken else ""
    return (
        f"{jobs_of(moved)} {verb} moved, {report.renamed:,} of them with a new id{taken}; "
        f"{report.schedulers:,} {'repeatable as a job scheduler' if one else 'repeatables as job schedulers'}."
    )


def print_verification(heading: Heading, found: Verification, *, as_json: bool) -> None:
    """Print the jobs of both queues by state, and what is left."""
    if as_json:
        write_json({**heading.json, **found.to_json()})
        return
    say(str(heading))
    _print_counts({"Bull": found.legacy}, {"BullMQ": found.target})
    _print_remarks(heading, "left", found.left, cut=_LISTED)
    if found.complete:
        write("Nothing is left that still has to run.")
    if connected := connected_of(found.clients):
        write(visible(f"Do not clean up yet: {connected}.", line=True))
    elif found.complete:
        write(f"No program with Bull is seen. {_UNSEEN}")
    if finished := finished_of(found.legacy):
        write(f"{finished} {_stay(finished)}: --cleanup deletes them.")


def print_cleanup(legacy: LegacyQueue, removed: int, *, as_json: bool) -> None:
    """Print how many keys were deleted."""
    if as_json:
        write_json({"queue": legacy.name, "removed": removed})
    else:
        keys = "key" if removed == 1 else "keys"
        whose = ": those of finished jobs, and of the queue itself, such as its counter `id`" if removed else ""
        write(f"{removed:,} {keys} of {legacy.qualified_name} deleted{whose}.")
        write("Its signpost stays, which sends programs to the new queue: --forget removes it.")


def print_given_back(heading: Heading, report: GivenBack, *, as_json: bool) -> None:
    """Print how many jobs went back to Bull."""
    if as_json:
        write_json({**heading.json, **report.to_json()})
        return
    say(str(heading))
    returned = sum(report.returned.values())
    if not returned and not report.arrived:
        write(
            "No job is claimed, and only such jobs are given back, of a move that was interrupted. For jobs that have "
            'moved see "Going back" on the page "From Bull".'
        )
        return
    by_state = ", ".join(f"{count:,} {state}" for state, count in report.returned.items())
    write(f"{jobs_of(returned)} {'was' if returned == 1 else 'were'} given back to Bull{by_state and f': {by_state}'}.")
    if report.arrived:
        was, stay = ("was", "stays") if report.arrived == 1 else ("were", "stay")
        write(f"{jobs_of(report.arrived)} {was} in the new queue already, and {stay} there.")


def print_bridge(heading: Heading, report: BridgeReport, *, as_json: bool) -> None:
    """Print what was carried over."""
    if as_json:
        write_json({**heading.json, **report.to_json()})
        return
    write(f"{jobs_of(sum(report.moved.values()))} carried over; {report.mirrored:,} outcomes reported to Bull.")
    _print_remarks(heading, "special", report.notes)
    write(use_of(report.use))
    if report.use.left:
        write(f"Which, and why: {heading.verifying}")


def use_of(use: LegacyUse) -> str:
    """Return who uses the queue of Bull still, and whether it can be cleaned up, as a line."""
    if use.safe_to_clean_up:
        return (
            "Cleaning up is safe: no program with Bull is seen, nothing is left, and no job has come for a minute. "
            + _UNSEEN
        )
    reasons = ["the queue of Bull is paused: nothing moves until it is resumed"] if use.paused else []
    reasons += [connected] if (connected := connected_of(use.clients)) else []
    if use.left:
        reasons.append(f"{use.left:,} {'job or repeatable is' if use.left == 1 else 'jobs or repeatables are'} left")
    if use.owes:
        reasons.append("callers wait for outcomes")
    if not use.quiet:
        reasons.append("it is not a minute yet that no job has come")
    return visible(f"Do not clean up yet: {'; '.join(reasons)}.", line=True)


def connected_of(clients: Sequence[LegacyClient] | None) -> str:
    """Return in words which programs with Bull are connected; "" for none."""
    if clients is None:
        return "Redis does not say which programs with Bull are connected (it refuses CLIENT LIST or PUBSUB)"
    shown = [f"{client.address or 'unknown address'} ({client.role})" for client in clients]
    more = f" and {len(shown) - _NAMED:,} more" if len(shown) > _NAMED else ""
    return f"programs with Bull are connected: {', '.join(shown[:_NAMED])}{more}" if shown else ""


def print_removed(legacy: LegacyQueue, job_id: str, stays: str, *, as_json: bool) -> None:
    """Print that a job was removed, and what of it stays; "" for nothing."""
    if as_json:
        write_json({"queue": legacy.name, "removed": [job_id]})
    else:
        write(visible(f"Job {job_id} of {legacy.qualified_name} is gone{stays and f'; {stays}'}.", line=True))


def print_forgotten(legacy: LegacyQueue, to: Signpost | None, waiting: int, *, as_json: bool) -> None:
    """Print that a signpost was removed, and what happens then.

    Args:
        legacy: the queue of Bull.
        to: where its jobs had gone; None if there was no signpost.
        waiting: how many jobs and repeatables wait in the queue of Bull.
        as_json: print JSON.
    """
    if as_json:
        write_json({"queue": legacy.name, "forgotten": to is not None})
        return
    if to is None:
        write(f"{legacy.qualified_name} has no signpost: no migration has left one.")
        return
    name = legacy.qualified_name
    write(f"{name} says no more that its jobs have moved to {to}; the jobs that are there stay there.")
    if waiting:
        write("Programs with Bull go on to use it. Queue and Worker of bullrush are refused, as for any queue of Bull.")
    else:
        write("New queues may have its name. Programs with Bull notice nothing: what they add stays where they add it.")
    write("The next `bullrush migrate` may go to any queue: with --merge, if that one has jobs of its own.")


def _print_counts(legacy: Mapping[str, Mapping[str, int]], target: Mapping[str, Mapping[str, int]]) -> None:
    columns: list[tuple[str, Mapping[str, int]]] = [*legacy.items(), *target.items()]
    known = dict.fromkeys(state for _, counts in columns for state in counts)
    states = [state for state in known if any(counts.get(state) for _, counts in columns)]
    rows: list[Sequence[Any]] = [[state, *(counts.get(state) for _, counts in columns)] for state in states]
    write_table(["state", *(title for title, _ in columns)], rows)


def _print_remarks(heading: Heading, title: str, remarks: Sequence[Remark], cut: int | None = None) -> None:
    """Print one line per reason, with the first ids.

    Args:
        heading: from where to where.
        title: what they are.
        remarks: the remarks.
        cut: so many of a state are listed; there may be more.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for remark in remarks:
        groups.setdefault((remark.state, remark.reason), []).append(remark.id)
    listed = Counter(remark.state for remark in remarks)
    for (state, reason), ids in groups.items():
        names = ", ".join(id or "''" for id in ids[:_NAMED]) + (", ..." if len(ids) > _NAMED else "")
        number = f"{'at least ' if cut and listed[state] >= cut else ''}{len(ids):,}"
        where = (
            f"{number} claimed by a migrator" if state == "ext:claim" else f"{number} in {state}" if state else "key"
        )
        said = in_options(reason, **heading.removing(ids[0]))
        write(visible(f"{title}: {where} ({names}): {said}", line=True))
