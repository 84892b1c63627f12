"""Runs the Lua scripts on a real Redis, one at a time, without the compiled core."""

import os
import re
import shutil
import socket
import subprocess
import time
import uuid
from pathlib import Path

import pytest
import redis

LUA = Path(__file__).resolve().parents[2] / "lua"
INCLUDE = re.compile(r"^--- @include (\w+)\s*$")


def flatten(script):
    """Resolves the include lines of `script` ("add/add_jobs") the way the build does."""
    included = set()

    def lines_of(path):
        for line in path.read_text(encoding="utf-8").splitlines():
            found = INCLUDE.match(line)
            if not found:
                if line.strip() and not line.lstrip().startswith("--"):
                    yield line
            elif found[1] not in included:
                included.add(found[1])
                yield from lines_of(LUA / "include" / f"{found[1]}.lua")

    return "\n".join(lines_of(LUA / f"{script}.lua")) + "\n"


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory):
    """A Redis for the whole session: BULLRUSH_TEST_URL, or a private server that ends with it."""
    if os.environ.get("BULLRUSH_TEST_URL"):
        yield os.environ["BULLRUSH_TEST_URL"]
        return
    binary = shutil.which("redis-server")
    if not binary:
        pytest.skip("needs redis-server on PATH or BULLRUSH_TEST_URL")
    port = _free_port()
    server = subprocess.Popen(
        [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
        cwd=tmp_path_factory.mktemp("redis"),
        stdout=subprocess.DEVNULL,
    )
    url = f"redis://127.0.0.1:{port}/0"
    client = redis.Redis.from_url(url)
    try:
        for _ in range(200):
            try:
                client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.02)
        yield url
    finally:
        client.close()
        server.terminate()
        server.wait()


@pytest.fixture(scope="session")
def client(redis_url):
    """A redis-py client that returns text."""
    with redis.Redis.from_url(redis_url, decode_responses=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def _shas(client):
    return {}


@pytest.fixture
def run(client, _shas):
    """`run("add/add_jobs", queue, *args)`: runs a script on `bull:<queue>:` and returns its reply.

    Booleans become "1"/"0" and None becomes "", as every script expects.
    """

    def as_argument(value):
        if value is None:
            return ""
        return int(value) if isinstance(value, bool) else value

    def call(script, queue, *args, prefix="bull"):
        if script not in _shas:
            _shas[script] = client.script_load(flatten(script))
        return client.evalsha(_shas[script], 1, f"{prefix}:{queue}:meta", *map(as_argument, args))

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
    """`new_queue()`: a queue name nobody else uses; its keys are deleted after the test."""
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
