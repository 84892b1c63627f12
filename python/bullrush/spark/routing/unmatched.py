"""Jobs in routes that no worker matches: a drain whose time is over fails with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import orjson

from bullrush.errors import DrainError
from bullrush.routing import check_profile, check_target
from bullrush.spark.address import Address
from bullrush.spark.draining.driver_queries import ask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_matched(spark: SparkSession, address: Address, horizon: int, profiles: Iterable[str], run: str) -> None:
    """Check that no job is left in routes that none of the workers matched.

    Args:
        spark: the session.
        address: the queue.
        horizon: ms; jobs that are due within this time count.
        profiles: the profiles of the workers, as JSON.
        run: the run, "" if it has no list in Redis.

    Raises:
        DrainError: jobs are left; it has their number in each route.
    """
    if left := ask(spark, address, unmatched, horizon, sorted(set(profiles))):
        routes = ", ".join(f"{count:,} in {name!r}" for name, count in left.items())
        kept = f". The jobs that run {run} finished are in Redis" if run else ""
        raise DrainError(
            f"max_seconds is over, and no worker of this drain matches the targets of {sum(left.values()):,} jobs: "
            f"{routes}{kept}",
            run,
        )


def unmatched(address: Address, horizon: int, profiles: Sequence[str]) -> dict[str, int]:
    """Return how many jobs are left in the routes that no profile matches, by the name of the route.

    Args:
        address: the queue.
        horizon: ms; jobs that are due within this time count.
        profiles: the profiles of the drain's workers, as JSON. Those of workers elsewhere are in Redis.

    Redis:
        That of `Queue.route_status`, TIME, and five commands per route in one pipeline.
    """
    have = [check_profile("profile", orjson.loads(profile)) for profile in profiles]
    with address.open() as queue:
        names = [
            route.queue
            for route in queue.route_status()
            if not route.workers and not any(check_target("target", route.target).matches(one) for one in have)
        ]
        counts = queue.core.count_open(names, horizon).wait()
    return {name: count for name, count in zip(names, counts, strict=True) if count}
