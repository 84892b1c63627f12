"""Runs the Lua scripts on a real Redis, one at a time, without the compiled core."""

import uuid
from typing import NamedTuple

import msgpack
import pytest
import redis

from tests.lua.source import flatten

NOW = 1795225366409


@pytest.fixture(scope="session")
def client(redis_url):
    """A redis-py client that returns text."""
    with redis.Redis.from_url(redis_url, decode_responses=True, encoding_errors="surrogateescape") as connection:
        yield connection


@pytest.fixture(scope="session")
def _shas(client):
    return {}


@pytest.fixture
def runner(client, _shas):
    """`runner(user)`: a function that runs scripts through that client, which may lack the right to load them."""

    def as_argument(value):
        if value is None:
            return ""
        return int(value) if isinstance(value, bool) else value

    def of(user):
        def call(script, queue, *args, prefix="bull"):
            if script not in _shas:
                _shas[script] = client.script_load(flatten(script))
            return user.evalsha(_shas[script], 1, f"{prefix}:{queue}:meta", *map(as_argument, args))

        return call

    return of


@pytest.fixture
def run(client, runner):
    """`run("add/add_jobs", queue, *args)`: runs a script on `bull:<queue>:` and returns its reply.

    Booleans become "1"/"0" and None becomes "", as every script expects.
    """
    return runner(client)


@pytest.fixture
def run_both(client):
    """`run_both("legacy/move_job", queue, other, *args)`: runs a script on `bull:<queue>:` and `bull:<other>:`."""

    def call(script, queue, other, *args):
        sha = client.script_load(flatten(script))
        return client.evalsha(sha, 2, f"bull:{queue}:meta", f"bull:{other}:meta", *args)

    return call


def _read(client, key):
    kind = client.type(key)
    if kind == "string":
        return client.get(key)
    if kind == "list":
        return client.lrange(key, 0, -1)
    if kind == "set":
        return client.smembers(key)
    if kind == "zset":
        return client.zrange(key, 0, -1, withscores=True)
    if kind == "hash":
        return client.hgetall(key)
    if kind == "stream":
        return [list(fields.items()) for _, fields in client.xrange(key)]
    raise AssertionError(f"{key} has type {kind}")


@pytest.fixture
def dump(client):
    """`dump(queue)`: every key of the queue, by its name after the prefix, as plain Python values.

    string -> str, list -> list, set -> set, zset -> [(member, score)], hash -> dict,
    stream -> one [(field, value), ...] per entry, in order and without entry ids.
    """

    def whole(queue, prefix="bull"):
        start = f"{prefix}:{queue}:"
        return {key[len(start) :]: _read(client, key) for key in sorted(client.scan_iter(start + "*", count=1000))}

    return whole


@pytest.fixture
def events(client):
    """`events(queue)`: the event stream, each entry as one line, e.g. "waiting 1 active"."""

    def lines(queue, prefix="bull"):
        return [" ".join(fields.values()) for _, fields in client.xrange(f"{prefix}:{queue}:events")]

    return lines


@pytest.fixture
def new_queue(client):
    """`new_queue()`: a queue name of this test alone; its keys are deleted after the test."""
    names = []

    def make(label="q"):
        names.append(f"{label}-{uuid.uuid4().hex[:12]}")
        return names[-1]

    yield make
    for name in names:
        for key in client.scan_iter(f"*:{name}:*", count=1000):
            client.delete(key)


@pytest.fixture
def queue(new_queue):
    """One unique queue name."""
    return new_queue()


class Fetched(NamedTuple):
    """A fetch reply, unpacked."""

    limit_ttl: int
    next_delayed: int
    jobs: dict

    @classmethod
    def of(cls, reply):
        ttl, due, _, *packed = reply
        return cls(ttl, due, unpacked(packed[0]) if packed and packed[0] else {})


VALUES = ("name", "data", "opts", "timestamp", "delay", "priority")


def unpacked(packed):
    """Return {id: hash} of the MessagePack array of id, job, id, job... that a script returns (see fetch_jobs)."""
    jobs = msgpack.unpackb(packed.encode(errors="surrogateescape"), unicode_errors="surrogateescape")
    pairs = zip(jobs[::2], jobs[1::2], strict=True)
    return {job_id: job_hash(job) for job_id, job in pairs}


def job_hash(job):
    """Return a packed job's hash before its fetch, or one built from the standard values; None if it is no hash."""
    if len(job) > 1:
        return dict(zip(VALUES, job, strict=True))
    if not job:
        return None
    return dict(zip(job[0][::2], job[0][1::2], strict=True)) if job[0] else {}


@pytest.fixture
def recover(run):
    """`recover(queue, token, *known)`: the jobs of a lost reply, as {id: hash}; `with_data=0`: as {id: None}."""

    def jobs(queue, token, *known, with_data=1):
        return unpacked(run("fetch/recover_active", queue, token, with_data, *known))

    return jobs


@pytest.fixture
def add(run):
    """`add(queue, "data", ...)`: one run of add_jobs; with ids=[...] they are custom ids."""

    def jobs(queue, *data, ids=None, name="n", opts="{}", timestamp=NOW, delay=0, priority=0, lifo=False):
        each = data if ids is None else [value for pair in zip(ids, data, strict=True) for value in pair]
        head = [len(data), name, opts, timestamp, delay, priority, lifo, ids is not None]
        return run("add/add_jobs", queue, *head, *each)[0]

    return jobs


@pytest.fixture
def fetch(run):
    """`fetch(queue, count)`: moves jobs to active; those beyond `slots` are claimed ahead. `raw`: the reply itself."""

    def jobs(
        queue,
        count=1,
        now=NOW,
        token="t",
        lock=30_000,
        limit=("", ""),
        worker="",
        slots=None,
        stalled_limit="",
        alone=False,
        raw=False,
    ):
        rules = (count if slots is None else slots, stalled_limit, alone)
        reply = run("fetch/move_to_active", queue, now, token, lock, *limit, worker, count, *rules)
        return reply if raw else Fetched.of(reply)

    return jobs


@pytest.fixture
def finish(run):
    """`finish(queue, [...], ...)`: completes or fails jobs; each job is (id, value) or (id, reason, stack, attempts).

    `plain_fields` is the number of fields of each job after its fetch; with `value` the jobs share it and are (id,).
    `results` is the queue to which the outcomes are added.
    Returns {index: code} of the refused jobs, and the fetched jobs.
    """

    def jobs(
        queue,
        *each,
        target="completed",
        now=NOW,
        token="t",
        keep=-1,
        age="",
        fetch=0,
        points=0,
        limit=("", ""),
        plain_fields="",
        value="",
        ats="",
        worker="",
        worker_run="",
        results="",
        raw=False,
    ):
        head = [now, points, fetch, token, 30_000, *limit, worker, fetch, "", False, worker_run]
        head += ["results", f"bull:{results}:", '{"attempts":0}'] if results else []
        first = [len(each), target, token, keep, age, ats, plain_fields, value] if each else []
        reply = run("finish/move_to_finished", queue, *head, *first, *[value for job in each for value in job])
        if raw:
            return reply
        refused, *fetched = reply
        return dict(zip(refused[::2], refused[1::2], strict=True)), Fetched.of(fetched)

    return jobs
