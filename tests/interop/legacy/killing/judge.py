"""Whether every job exists once, whole and in its order, wherever a killed migrator has left it."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from redis import Redis

from .seeds import Seeds

_LEGACY = {"wait", "paused", "active", "delayed", "completed", "failed"}
_TARGET = {*_LEGACY, "prioritized", "waiting-children"}


class Places(NamedTuple):
    """The jobs of a queue.

    Attributes:
        lists: the ids in each list or set, in its order where it has one.
        claimed: the ids that a migrator has taken out of their place, to bring them to another server.
        keys: the names of all keys, without what comes before.
    """

    lists: dict[str, list[str]]
    claimed: set[str]
    keys: set[str]

    def count(self) -> "Counter[str]":
        """How often each job is there."""
        return Counter(id for ids in self.lists.values() for id in ids)


def read(redis: "Redis[bytes]", stem: str) -> Places:
    """Read a queue."""
    readers: dict[bytes, Any] = {
        b"list": lambda key: redis.lrange(key, 0, -1),
        b"set": redis.smembers,
        b"zset": lambda key: redis.zrange(key, 0, -1),
        b"none": lambda _: [],
    }
    lists = {}
    for name in _TARGET:
        ids = readers[redis.type(stem + name)](stem + name)
        # Bull's worker wakes with it; it is no job.
        lists[name] = [id.decode() for id in ids if not id.startswith(b"0:")]
    claimed = {id.decode() for id in redis.hkeys(f"{stem}ext:claim")}
    return Places(
        lists, claimed, {key.decode().removeprefix(stem) for key in redis.scan_iter(f"{stem}*", count=10_000)}
    )


def check_each_job_is_once(acknowledged: Iterable[str], legacy: Places, target: Places) -> None:
    """Check that no job is lost and none is there twice. A claimed one may be in the target already."""
    found = legacy.count() + target.count()
    lost = [id for id in acknowledged if not found[id] and id not in legacy.claimed]
    twice = [id for id, count in found.items() if count > 1]
    assert (lost, twice, legacy.claimed & set(legacy.count())) == ([], [], set())
    for places in (legacy, target):
        assert {id for id in places.count() if id not in places.keys} == set(), "ids without a job"


def check_moved(seeds: Seeds, legacy: Places, target: Places, redis: "Redis[bytes]", stem: str) -> None:
    """Check that all seeds are in the target, whole and in their order, and that the next id is free."""
    repeated = {id for id in seeds.ids if id.startswith("repeat:")}
    moved = seeds.ids - repeated
    assert set(seeds.ids) & set(legacy.count()) == set()
    assert not legacy.claimed
    assert not any(legacy.lists[name] for name in ("active", "delayed", "completed", "failed"))
    order = (target.lists["wait"] or target.lists["paused"])[::-1]
    assert order[: len(seeds.run_order)] == seeds.run_order
    later = [int(id) for id in order[len(seeds.run_order) :]]
    assert later == sorted(later), "the producer's jobs are not in their order"
    for name in ("completed", "failed", "delayed"):
        before = {id.decode() for id in seeds.scores.get(name) or seeds.sets[name]} - repeated
        assert before <= set(target.lists[name])
    for id in sorted(moved):
        assert redis.hget(stem + id, "data") == seeds.hashes[id][b"data"]
        assert redis.lrange(f"{stem}{id}:logs", 0, -1) == seeds.log(id)
        assert not legacy.keys & {id, f"{id}:logs", f"{id}:lock"}
    assert redis.zcard(f"{stem}repeat") == len(seeds.scores.get("repeat", {}))
    assert sum(id.startswith("repeat:") for id in target.lists["delayed"]) == len(repeated)
    next_id = int(redis.get(f"{stem}id") or 0) + 1
    assert next_id > max(int(id) for id in target.count() if id.isdigit())
