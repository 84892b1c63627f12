"""Other providers for a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bullrush.errors import InvalidOptionError
from bullrush.tasks import OVERRIDES


@contextmanager
def override(provider: Callable[..., Any], replacement: Callable[[], Any]) -> Iterator[None]:
    """Let tasks of this process get their dependency from another provider, for the time of a ``with`` block.

    ``with override(open_pool, FakePool): work(tasks)``. A value of scope ``worker`` that exists already stays.

    Args:
        provider: what the tasks have in ``Depends``.
        replacement: called without arguments; it may return a context manager, as any provider.

    Raises:
        InvalidOptionError: one of them is not a function.
    """
    for one in (provider, replacement):
        if not callable(one):
            raise InvalidOptionError(f"override() takes two functions that make a value, not {one!r}")
    before = OVERRIDES.get(provider)
    OVERRIDES[provider] = replacement
    try:
        yield
    finally:
        if before is None:
            del OVERRIDES[provider]
        else:
            OVERRIDES[provider] = before
