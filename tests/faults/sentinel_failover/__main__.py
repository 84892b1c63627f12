"""Measures failovers, keeps the raw figures, and writes them into docs/production.md. ``make failovers`` calls it.

usage: python -m tests.faults.sentinel_failover [--failovers N] [--rate JOBS] [--seconds S] [--seed S] [--record]
"""

import argparse
import platform
import random
import sys
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

from bullrush import __version__
from tests.servers.sentinel import SentinelServers

from .measure import Loss, allow_users, fail_over
from .report import Run, is_little, record


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--failovers", type=int, default=10)
    parser.add_argument("--rate", type=int, default=5000, help="adds per second of each producer")
    parser.add_argument("--seconds", type=float, default=3, help="the least time before a failover and after it")
    parser.add_argument("--seed", type=int, default=1, help="chooses when each failover begins")
    parser.add_argument("--record", action="store_true", help="write the figures into the page")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    chance = random.Random(given.seed)
    found: list[dict[str, Loss]] = []
    with SentinelServers(down_after=5000) as servers:
        allow_users(servers)
        with servers.connect(servers.master()) as redis:
            redis_version = redis.info("server")["redis_version"]
        for number in range(given.failovers):
            with TemporaryDirectory() as folder:
                seconds = given.seconds * chance.uniform(1, 1.5)
                found.append(fail_over(servers, given.rate, Path(folder), seconds))
            print(number + 1, *(f"{name}: {loss}" for name, loss in found[-1].items()), flush=True)
    run = Run(
        given={"failovers": given.failovers, "rate": given.rate, "seconds": given.seconds, "seed": given.seed},
        at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        versions={"bullrush": __version__, "Redis": redis_version, "Python": platform.python_version()},
        found=[{name: loss.__dict__ for name, loss in one.items()} for one in found],
    )
    if given.record:
        record(run)
    return 0 if is_little(run) else 1


if __name__ == "__main__":
    sys.exit(main())
