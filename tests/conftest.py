"""Fixtures of all tests: a private real Redis per test process, a queue per test, and a plain client."""

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from bullrush.embedded import EmbeddedRedis

TESTS = Path(__file__).parent
INTEROP = TESTS / "interop"
#: Tests that start interpreters or servers of their own, or wait for real time: they take most of the time of all.
#: `make t` leaves them out.
SLOW = tuple(
    str(TESTS / place)
    for place in (
        *("faults", "interop", "python/spark", "python/cli/worker", "python/django", "python/embedded"),
        *("lua/denied", "lua/route/test_pods.py", "python/doctor/test_server.py", "python/routing/test_retirement.py"),
        *("python/test_user_program.py", "python/testing/test_page.py"),
        *(
            f"python/worker/test_{name}.py"
            for name in ("loop_ended", "process_runner", "process_starts", "program", "signals", "slow_listeners")
        ),
        *(f"repository/test_{name}.py" for name in ("benchmarks", "docs", "frameworks", "rights")),
    )
)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """Return the URL of a server that only this test process uses (each pytest-xdist worker has its own)."""
    with EmbeddedRedis(port=0, password="") as server:
        yield server.url


@pytest.fixture(scope="session")
def _client(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def queue_name(request: pytest.FixtureRequest, _client: Redis) -> Iterator[str]:
    """Return a queue name that no other test uses, and remove its keys afterwards, whatever their prefix."""
    slug = re.sub(r"\W+", "-", request.node.name)[:60].strip("-")
    name = f"{slug}-{uuid.uuid4().hex[:8]}"
    yield name
    for key in _client.scan_iter(f"*:{name}[:~]*", count=10_000):
        _client.unlink(key)


@pytest.fixture(scope="session")
def span_exporter() -> Any:
    """Return the exporter of all OpenTelemetry spans: a process has one tracer provider, so all tests share it."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def redis(_client: Redis, queue_name: str) -> Redis:
    """Return a plain client (replies as str) of the test's server.

    The keys of ``queue_name`` are removed after the test.
    """
    return _client


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark slow tests. Run all Spark tests in one process, since a session costs a gigabyte, with more time."""
    for item in items:
        if str(item.path).startswith(SLOW):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))
            if not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(180))
    yield  # pytest-xdist adds the group to the ids
    if getattr(config.option, "loadgroup", False):
        lost = [
            item.nodeid for item in items if item.get_closest_marker("spark") and not item.nodeid.endswith("@spark")
        ]
        assert not lost, f"pytest-xdist does not keep Spark tests in one process: {lost[0]}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what this machine cannot run, and say why; CI has everything, so there it is a failure."""
    for marker, missing in (("node", _missing_node), ("spark", _missing_spark), ("boards", _missing_board)):
        if item.get_closest_marker(marker) and (reason := missing()):
            if os.environ.get("CI") == "true":
                pytest.fail(f"CI must have it: {reason}", pytrace=False)
            pytest.skip(reason)


def _missing_node() -> str | None:
    if not shutil.which("node"):
        return "Node >= 18 is not on PATH"
    if not (INTEROP / "node_modules").is_dir():
        return "the bullmq packages are not installed: run 'npm ci' in tests/interop"
    return None


def _missing_board() -> str | None:
    if not any(
        map(shutil.which, filter(None, (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome")))
    ):
        return "no Chromium is on PATH: 'make boards' says how to get one"
    if not shutil.which("node") or not (INTEROP.parent / "boards" / "node_modules").is_dir():
        return "bull-board is not installed: run 'make boards'"
    return None


def _missing_spark() -> str | None:
    try:
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        return f"{error.name} is not installed: pip install 'bullrush[spark]'"
    from bullrush.spark.java import use_java

    try:
        use_java()
    except RuntimeError as error:
        return str(error)
    return None
