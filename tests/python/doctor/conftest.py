"""Examinations of the test's queue, and servers that only one test breaks."""

import base64
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue
from bullrush._core import now_ms
from bullrush.doctor import Doctor, Finding
from bullrush.embedded import EmbeddedRedis
from bullrush.rights import acl_rule, read_roles

#: A job that was added so long ago waits for too long; ms.
LONG_AGO = 600_000


Findings = Callable[..., list[Finding]]


@pytest.fixture
def queue(queue_name: str, redis_url: str) -> Iterator[Queue]:
    with Queue(queue_name, url=redis_url) as queue:
        yield queue


@pytest.fixture
def doctor(redis_url: str, redis: Redis, queue_name: str) -> Iterator[Doctor]:
    """A doctor with the rights of an administrator, and CONFIG GET, which no role has: it sees and repairs all."""
    user, admin = f"admin-{queue_name}", read_roles()["admin"]
    redis.execute_command(*acl_rule([*admin.needed, *admin.useful, "config|get"], user=user, password="x").split())
    yield Doctor(redis_url.replace("//", f"//{user}:x@"), roles=["admin"])
    redis.acl_deluser(user)


@pytest.fixture
def findings(doctor: Doctor, queue_name: str) -> Callable[..., list[Finding]]:
    """Return a function that examines the test's queue and returns what is wrong with it."""

    def examine(**options: Any) -> list[Finding]:
        report = doctor.examine([queue_name], **options)
        assert report.queues == [queue_name]
        return [finding for finding in report.findings if finding.queue is not None]

    return examine


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Callable[..., tuple[str, Redis]]]:
    """Return a function that starts a server that writes to disk; it returns its URL and a client."""
    with ExitStack() as opened:

        def start(**options: Any) -> tuple[str, Redis]:
            server = opened.enter_context(EmbeddedRedis(tmp_path / "data", **{"port": 0, "password": "", **options}))
            return server.url, opened.enter_context(Redis.from_url(server.url, decode_responses=True))

        yield start


def codes(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def repaired(doctor: Doctor, findings: Findings, code: str, **options: Any) -> bool:
    """Repair what is found, and tell whether nothing is left of it."""
    [finding] = findings(**options)
    assert finding.code == code and finding.about.repair
    assert doctor.repair(finding) is None
    return findings(**options) == []


@contextmanager
def connected_as(url: str, *names: str) -> Iterator[None]:
    """Connections that have these names and do nothing."""
    clients = [Redis.from_url(url, client_name=name) for name in names]
    for client in clients:
        client.ping()
    yield
    for client in clients:
        client.close()


def worker_name(queue: Queue, name: str) -> str:
    return f"bull:{base64.b64encode(queue.name.encode()).decode()}:w:{name}"


def add_long_ago(queue: Queue, count: int = 1) -> list[str]:
    """Add jobs that have waited for long."""
    jobs = queue.add_bulk([{"name": "late", "opts": {"timestamp": now_ms() - LONG_AGO}} for _ in range(count)])
    return [job.id for job in jobs]
