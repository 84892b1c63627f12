"""A queue of Bull."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from bullrush.base.closing import BlockingContext
from bullrush.base.handle import Handle
from bullrush.errors import InvalidOptionError
from bullrush.values import checks
from bullrush.values.checks import Duration

#: The layouts of Bull 1.x, 2.x, 3.x and 4.x; the last two are the same.
Flavor: TypeAlias = Literal["auto", "1", "2", "3", "4"]

_DEFAULT_TIMEOUT: Final = 10_000


class LegacyCalls(Handle):
    """The calls of a queue of Bull, written once for `LegacyQueue` and `aio.LegacyQueue`."""

    def __init__(
        self,
        name: str,
        *,
        url: str | None = None,
        prefix: str = "bull",
        flavor: Flavor = "auto",
        timeout: Duration | None = _DEFAULT_TIMEOUT,
    ) -> None:
        """Make a handle of a queue of Bull. It connects at the first call, and writes nothing by itself.

        Args:
            name: the queue's name.
            url: the URL of Redis, as for `Queue`.
            prefix: the prefix of all keys, ``bull`` by default.
            flavor: the major version of Bull; ``auto`` finds it out.
            timeout: ms that a round trip may take, connecting included. None is no limit.

        Raises:
            QueueNameError: the name is empty, or has a colon or control characters.
            InvalidOptionError: an argument has an invalid value.
        """
        if flavor not in get_args(Flavor):
            raise InvalidOptionError(f"flavor must be one of {', '.join(map(repr, get_args(Flavor)))}, not {flavor!r}")
        self._flavor = flavor
        options = {"url": url, "prefix": prefix, "flavor": flavor, "timeout": timeout, "allow_legacy": True}
        timeout_ms = None if timeout is None else checks.milliseconds("timeout", timeout)
        super().__init__(name, url, prefix, options=options, timeout_ms=timeout_ms)


class LegacyQueue(BlockingContext, LegacyCalls):
    """A queue of Bull, BullMQ's predecessor, versions 1 to 4."""
