"""Runs rounds of the fault suite and adds their results to the published ones. ``make faults`` calls it.

usage: python -m tests.faults.suite [--faults N] [--seconds S] [--seed S] [--topology NAME] [--only "FAULT"] [--record]
"""

import argparse
import logging
import os
import random
import shutil
import sys
import time
from pathlib import Path

from .faults import FAULTS
from .folders import new_folder
from .plan import RoundPlan
from .results import RESULTS, add, of_aborted, of_round
from .round import Round
from .topologies import TOPOLOGIES


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=400, help="faults in each round")
    parser.add_argument("--rounds", type=int, default=0, help="how many rounds; 0: until the time is over")
    parser.add_argument("--seconds", type=float, default=300, help="no new round begins after this time")
    parser.add_argument("--seed", type=int, default=None, help="of the first round; the others follow from it")
    parser.add_argument(
        "--topology", action="append", choices=sorted(TOPOLOGIES), help="can be repeated; they take turns"
    )
    parser.add_argument("--only", action="append", choices=sorted(FAULTS), help="these faults only; can be repeated")
    parser.add_argument("--gap", type=float, default=0.3, help="mean seconds between two quick faults")
    parser.add_argument("--bulk", type=int, default=100, help="jobs of a producer at once")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds that a producer pauses then")
    parser.add_argument(
        "--durable",
        action=argparse.BooleanOptionalAction,
        help="producers of ours wait until a replica has their jobs (default: as the seed says)",
    )
    parser.add_argument(
        "--users",
        action=argparse.BooleanOptionalAction,
        help="each process has only the rights of its role (default: as the seed says)",
    )
    parser.add_argument(
        "--confirm",
        action="store_true",
        help="end with an error only if a round with violations has some again when it is repeated",
    )
    parser.add_argument("--record", action="store_true", help=f"add the results to {RESULTS.name}")
    parser.add_argument("--keep", type=Path, help="keep logs and ledgers of rounds with violations here")
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # relays write to connections that faults have ended
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(2**31)
    topologies, violations, number = given.topology or list(TOPOLOGIES), 0, 0
    deadline = time.monotonic() + given.seconds
    while (number < given.rounds) if given.rounds else (number == 0 or time.monotonic() < deadline):
        plan = RoundPlan(
            topologies[number % len(topologies)],
            seed + number,
            given.faults,
            bulk=given.bulk,
            pause=given.pause,
            gap=given.gap,
            only=tuple(given.only or ()),
            durable=given.durable,
            users=given.users,
        )
        found = try_round(plan, given)
        if found and given.confirm:
            print("  the round is played again", flush=True)
            found = try_round(plan, given)
        violations += found
        number += 1
    return 1 if violations else 0


def try_round(plan: RoundPlan, given: argparse.Namespace) -> int:
    """As `one_round`; a round that cannot begin is a violation, too."""
    try:
        return one_round(plan, given)
    except Exception as error:  # the servers could not be started
        print(f"{plan.topology} seed {plan.seed}: the round could not begin: {error!r}", flush=True)
        if given.record:
            add([of_aborted(plan, repr(error))])
        return 1


def one_round(plan: RoundPlan, given: argparse.Namespace) -> int:
    """Run one round, say what it found, and return the number of violations."""
    began = time.monotonic()
    folder = new_folder()
    round = Round(plan, folder, loud=not given.quiet)
    found = round.run()
    seconds = time.monotonic() - began
    print(
        f"{plan.title}{' with users' if plan.users else ''} seed {plan.seed}: {sum(found.faults.values())} faults, "
        f"{found.jobs} jobs, {found.runs} runs, "
        f"{found.repeated} repeated, {found.lost} lost, {len(found.violations)} violations, "
        f"asleep {len(found.asleep)} times in {found.looks} looks, {seconds:.0f} s",
        flush=True,
    )
    for text in found.violations[:10]:
        print(f"  VIOLATION {text[:1500]}", flush=True)
    if found.violations and given.keep:
        kept = given.keep / f"{plan.topology}-{plan.seed}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept, ignore=shutil.ignore_patterns("*.aof", "appendonlydir", "*.rdb"))
        (kept / "violations.txt").write_text("\n".join(found.violations))
        (kept / "faults.txt").write_text("\n".join(map(str, round.happened)))
        print(f"  logs and ledgers: {kept}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    if given.record:
        add([of_round(plan, round, seconds)])
    return len(found.violations)


if __name__ == "__main__":
    sys.stdout.flush()
    code = main()
    sys.stdout.flush()
    os._exit(code)  # threads of relays must not keep it
