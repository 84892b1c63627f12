"""What the tests of routes share."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bullrush import Worker


@pytest.fixture
def keeper(worker: Callable[..., Worker]) -> Callable[..., Any]:
    """Run a worker that looks after the routes, and takes no job of them unless it has a ``profile``, for the block.

    ``reported`` and ``errors`` get what its events ``route_unmatched`` and ``error`` say.
    """

    @contextmanager
    def run(
        reported: list[Any] | None = None,
        errors: list[str] | None = None,
        handler: Callable[[Any], Any] = lambda job: None,
        **options: Any,
    ) -> Iterator[Worker]:
        one = worker(handler, **{"profile": {"server": "keeper"}, **options})
        if errors is not None:
            one.on("error", lambda error: errors.append(str(error)))
        if reported is not None:
            one.on("route_unmatched", lambda *arguments: reported.append(arguments))
        thread = threading.Thread(target=one.run, daemon=True)
        thread.start()
        yield one
        one.close()
        thread.join(10)
        assert not thread.is_alive()

    return run
