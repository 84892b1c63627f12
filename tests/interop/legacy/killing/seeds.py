"""Sixty jobs of real Bull in all states: made once by Bull itself, then put back into a queue as often as wanted."""

from dataclasses import dataclass, field
from typing import Any

from redis import Redis

from tests.interop.sides.node_process import NodeProcess
from tests.waiting import wait_until

HOUR = 3_600_000
#: The producer's ids begin here, so that those of the seeds are never used twice.
FIRST_FREE = 1_000


@dataclass
class Seeds:
    """The keys of a legacy queue, by their last part, as Redis has them."""

    hashes: dict[str, dict[bytes, bytes]] = field(default_factory=dict)
    lists: dict[str, list[bytes]] = field(default_factory=dict)
    sets: dict[str, list[bytes]] = field(default_factory=dict)
    scores: dict[str, dict[bytes, float]] = field(default_factory=dict)

    @property
    def ids(self) -> set[str]:
        """All jobs."""
        return {name for name, fields in self.hashes.items() if b"data" in fields}

    @property
    def run_order(self) -> list[str]:
        """The jobs that have to run, in this order: those of a worker that has died, then those that wait."""
        return [id.decode() for id in (*reversed(self.lists["active"]), *reversed(self.lists["wait"]))]

    def log(self, id: str) -> list[bytes]:
        """The log of a job."""
        return self.lists.get(f"{id}:logs", [])

    def put(self, redis: "Redis[bytes]", stem: str) -> None:
        """Put the jobs into a queue, before those that wait there. They replace what is left of an earlier time."""
        into = redis.pipeline()
        gone = [
            name for name in (*self.hashes, *self.lists, *self.sets, *self.scores) if name not in {"wait", "delayed"}
        ]
        into.delete(*(stem + name for name in gone))
        for name, fields in self.hashes.items():
            into.hset(stem + name, mapping=fields)  # type: ignore[arg-type]
        for name, items in self.lists.items():
            into.rpush(stem + name, *items)
        for name, members in self.sets.items():
            into.sadd(stem + name, *members)
        for name, scores in self.scores.items():
            into.zadd(stem + name, scores)  # type: ignore[arg-type]
        into.execute()


def make(bull: NodeProcess, redis: "Redis[bytes]", queue: str) -> Seeds:
    """Let Bull fill a queue, and take its jobs out of there."""
    named = bull.library not in {"bull1", "bull2"}
    kinds: dict[str, dict[str, Any]] = {
        "plain": {},
        "urgent": {"priority": 1},
        "later": {"priority": 9},
        "first": {"lifo": True},
    }

    def add(n: int, opts: dict[str, Any] | None = None, **data: Any) -> str:
        id: str = bull.call("add", queue=queue, data={"n": n, "text": "Zo\u00eb  1.0", **data}, opts=opts or {})
        return id

    def counted(**expected: int) -> None:
        wait_until(lambda: expected.items() <= bull.call("counts", queue=queue).items(), f"{expected}")

    bull.call("work", queue=queue, concurrency=2)
    for n in range(8):
        add(n)
        add(n, fail="no")
    retried = [add(n, {"attempts": 3, "backoff": {"type": "fixed", "delay": HOUR}}, fail="not yet") for n in range(4)]
    counted(completed=8, failed=8, delayed=4)
    for n in range(2):
        add(n, hang=True)
    counted(active=2)
    bull.call("close", queue=queue)
    for n in range(20):
        kind = list(kinds)[n % 4 if named else n % 2 * 3]
        id = add(
            n,
            {"attempts": 3, **kinds[kind], **({"jobId": f"own-{n}"} if n % 7 == 6 and bull.library != "bull1" else {})},
        )
        if bull.library in {"bull3", "bull4"}:
            bull.call("log", queue=queue, job=id, row=f"seen {n}")
            bull.call("log", queue=queue, job=id, row="twice")
    for n in range(16 if named else 18):
        add(n, {"delay": HOUR + n})
    if named:
        for pattern in ("0 0 1 1 *", "0 12 1 7 *"):
            bull.call("add", queue=queue, data={}, opts={"repeat": {"cron": pattern}})
    assert len(retried) == 4
    seeds = _read(redis, f"bull:{queue}:")
    redis.delete(*redis.keys(f"bull:{queue}:*"))
    assert len(seeds.ids) == 60, len(seeds.ids)
    return seeds


def _read(redis: "Redis[bytes]", stem: str) -> Seeds:
    seeds = Seeds()
    for key in redis.scan_iter(f"{stem}*", count=1_000):
        name, kind = key.decode().removeprefix(stem), redis.type(key).decode()
        if name.endswith(":lock") or name in {"stalled", "stalled-check", "id", "meta"}:
            continue
        if kind == "hash":
            seeds.hashes[name] = redis.hgetall(key)
        elif kind == "list":
            seeds.lists[name] = redis.lrange(key, 0, -1)
        elif kind == "set":
            seeds.sets[name] = list(redis.smembers(key))
        elif kind == "zset":
            seeds.scores[name] = dict(redis.zrange(key, 0, -1, withscores=True))
        else:
            raise AssertionError(f"{name} is a {kind}")
    return seeds
