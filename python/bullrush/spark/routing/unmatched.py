"""Jobs in routes that no worker matches: a drain whose time is over fails with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from bullrush.errors import DrainError, InvalidOptionError
from bullrush.routing import check_profile, check_target
from bullrush.spark.address import Address
from bullrush.spark.draining.questions import ask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: ms after which a worker that has said nothing counts as dead.
_DEAD_AFTER: Final = 30_000


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
        Two reads of a hash, and five commands per route in one pipeline.
    """
    have = [check_profile("profile", orjson.loads(profile)) for profile in profiles]
    with address.open() as queue:
        entries, others, (seconds, _) = queue.core.commands(
            [["HGETALL", queue.to_key("ext:routes")], ["HVALS", queue.to_key("ext:workers")], ["TIME"]]
        ).wait()
        have += _living(others, int(seconds) * 1000)
        names = [
            f"{address.name}~{slug.decode()}"
            for slug, entry in zip(entries[::2], entries[1::2], strict=True)
            if (target := _target(entry)) is not None and not any(target.matches(one) for one in have)
        ]
        due = (int(seconds) * 1000 + horizon + 1) * 4096
        commands: list[list[int | str]] = []
        for start in (f"{address.prefix}:{name}:" for name in names):
            commands += [["LLEN", f"{start}{place}"] for place in ("wait", "paused", "active")]
            commands += [["ZCARD", f"{start}prioritized"], ["ZCOUNT", f"{start}delayed", "-inf", f"({due}"]]
        counts = queue.core.commands(commands).wait() if commands else []
    left = {name: sum(counts[5 * place : 5 * place + 5]) for place, name in enumerate(names)}
    return {name: count for name, count in sorted(left.items()) if count}


def _living(entries: Iterable[bytes], now: int) -> Iterator[Any]:
    """Yield the profiles of workers elsewhere that told of themselves within the last 30 s."""
    for entry in entries:
        try:
            told = orjson.loads(entry)
            if now - told["ts"] < _DEAD_AFTER:
                yield check_profile("profile", told["profile"])
        except (InvalidOptionError, ValueError, KeyError, TypeError):  # another version wrote it
            continue


def _target(entry: bytes) -> Any:
    """Return the target of an entry of the registry; None for one that another version wrote, which nobody serves."""
    try:
        return check_target("target", orjson.loads(entry))
    except (InvalidOptionError, orjson.JSONDecodeError):
        return None
