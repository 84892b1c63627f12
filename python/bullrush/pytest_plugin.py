"""The pytest plugin. It is there when bullrush is installed, and starts a server only for tests that ask for one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from bullrush.embedded import EmbeddedRedis
    from bullrush.testing import Clock


@pytest.fixture(scope="session")
def _bullrush_server() -> Iterator[EmbeddedRedis]:
    from bullrush.embedded import EmbeddedRedis

    with EmbeddedRedis(port=0) as server:
        yield server


@pytest.fixture
def bullrush_url(_bullrush_server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the URL of a private Redis server, emptied for the test; it is also in ``BULLRUSH_URL`` during the test.

    The server lives as long as the test session; with pytest-xdist each process has its own. It needs
    ``pip install 'bullrush[embedded]'`` or a redis-server on the path. The URL is the same in all tests, so that queues
    and tasks that are globals of a module can be used in each of them.
    """
    from bullrush.extending import forget_environment
    from bullrush.queue import Queue

    url = _bullrush_server.url
    with Queue("flush", url=url, skip_metas_update=True) as queue:
        queue.core.commands([["FLUSHDB"]]).wait()
    monkeypatch.setenv("BULLRUSH_URL", url)
    forget_environment()
    yield url
    forget_environment()


@pytest.fixture
def bullrush_clock() -> Iterator[Clock]:
    """Return a clock that the test can move or stop; the real time is back after the test."""
    from bullrush.testing import Clock

    with Clock() as clock:
        yield clock
