"""The rollouts that were measured last, and their place in docs/upgrading.md.

usage: python -m tests.interop.fleet.rollout_report [--play NAME] [--jobs N] [--seed S] [--page]

Plays each of them and keeps what came of it, or plays one and keeps nothing. ``--page`` only writes the page anew.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from redis import Redis

from bullrush import __version__
from bullrush.embedded import EmbeddedRedis
from tests.interop.peers import PEERS

from .fleet import OUR_KINDS
from .play import WRITTEN_OVER, Outcome
from .rollout import WORKERS, flip, roll

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "upgrading.md"
RESULTS = ROOT / "docs" / "reliability" / "rollout.json"
BEGIN, END = "<!-- measured: rollout -->\n", "<!-- /measured -->\n"


class _Kind(NamedTuple):
    """One of the plays that are measured: what the table says of it, and what plays it."""

    title: str
    play: Callable[[str, Path, int, int], Outcome]


ALONE = "rolled alone"
PLAYS = {
    "rolled": _Kind(
        f"rolled, {WORKERS // 2} workers of BullMQ and {WORKERS // 2} of bullrush",
        lambda url, folder, jobs, seed: roll(url, folder, jobs=jobs, seed=seed, with_ours=True),
    ),
    ALONE: _Kind(
        f"rolled, {WORKERS} workers of BullMQ, without bullrush",
        lambda url, folder, jobs, seed: roll(url, folder, jobs=jobs, seed=seed, with_ours=False),
    ),
    "flipped": _Kind(
        "2 workers of 5.62.0, 2 of 6.7.0 and 4 of bullrush, the version changes each second",
        lambda url, folder, jobs, seed: flip(url, folder, jobs=jobs),
    ),
}
#: What is wrong because of BullMQ alone, whoever else is there.
OF_BULLMQ = frozenset({WRITTEN_OVER})
_KEPT = 20


@dataclass(frozen=True)
class Run:
    """One play that was recorded."""

    given: dict[str, Any]
    at: str
    versions: dict[str, str]
    #: An `Outcome`, of whose violations there is the number, and the first few.
    found: dict[str, Any]


def load() -> dict[str, Run]:
    """Return the last run of each play."""
    return {name: Run(**run) for name, run in json.loads(RESULTS.read_text()).items()}


def violations_of_ours(run: Run) -> set[str]:
    """Return the kinds of violations for which BullMQ alone is not the reason."""
    return set(run.found["violations"]) - OF_BULLMQ


def with_figures(page: str, runs: dict[str, Run]) -> str:
    """Return a page with the figures of the runs in their place."""
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    return before + BEGIN + figures(runs) + END + after


def figures(runs: dict[str, Run]) -> str:
    """Return the figures as a table, and how they were measured."""
    titles = ["", "jobs", *(f"runs by {peer.version}" for peer in PEERS.values()), "by bullrush"]
    titles += ["processes replaced", "pauses", "lost, stuck or doubled", "slots run again"]
    rows = [f"| {' | '.join(titles)} |".replace("|  |", "| |"), f"|-|{'-:|' * (len(titles) - 1)}"]
    notes = []
    for name, kind in PLAYS.items():
        run = runs[name]
        found = run.found
        by_ours = sum(found["runs"].get(ours, 0) for ours in OUR_KINDS)
        again = sum(count for wrong, (count, _) in found["violations"].items() if wrong in OF_BULLMQ)
        others = sum(count for _, (count, _) in found["violations"].items()) - again
        numbers = [found["jobs"], *(found["runs"].get(peer.library, 0) for peer in PEERS.values()), by_ours]
        numbers += [found["replaced"], found["pauses"], others, again]
        rows.append(f"| {kind.title} | {' | '.join(f'{number:,}' for number in numbers)} |")
        notes.append(f"{name} {run.found['seconds']:,} s")
    given, versions, day = run.given, run.versions, run.at[:10]
    how = f"`python -m tests.interop.fleet.rollout_report --jobs {given['jobs']} --seed {given['seed']}`, {day},"
    used = f"bullrush {versions['bullrush']}, Redis {versions['Redis']}: {', '.join(notes)}."
    return "\n".join([*rows, "", how, used]) + "\n"


def played(name: str, jobs: int, seed: int) -> Run:
    """Play one on a server of its own."""
    with EmbeddedRedis(port=0, password="") as server, TemporaryDirectory() as folder:
        with Redis.from_url(server.url) as redis:
            redis_version = redis.info("server")["redis_version"]
        outcome = PLAYS[name].play(server.url, Path(folder), jobs, seed)
    return Run(
        given={"jobs": jobs, "seed": seed},
        at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        versions={"bullrush": __version__, "Redis": redis_version},
        found=_shortened(outcome),
    )


def _shortened(outcome: Outcome) -> dict[str, Any]:
    violations = {kind: [len(ones), ones[:_KEPT]] for kind, ones in outcome.violations.items()}
    return {**asdict(outcome), "violations": violations}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--play", choices=PLAYS, help="only this one, and keep nothing")
    parser.add_argument("--jobs", type=int, default=52_000, help="some are left out by deduplication")
    parser.add_argument("--seed", type=int, default=1, help="chooses in which order processes are replaced")
    parser.add_argument("--page", action="store_true", help="only write the page anew")
    given = parser.parse_args()
    runs = load() if given.page else {}
    if not given.page:
        for name in [given.play] if given.play else PLAYS:
            runs[name] = played(name, given.jobs, given.seed)
            print(name, json.dumps(asdict(runs[name])), flush=True)
        if not given.play:
            RESULTS.write_text(json.dumps({name: asdict(run) for name, run in runs.items()}, indent=1) + "\n")
    if not given.play:
        PAGE.write_text(with_figures(PAGE.read_text(), runs))
    return 1 if any(violations_of_ours(run) for name, run in runs.items() if name != ALONE) else 0


if __name__ == "__main__":
    sys.exit(main())
