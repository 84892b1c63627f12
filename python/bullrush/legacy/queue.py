"""A queue of Bull."""

from __future__ import annotations

from typing import Final

from bullrush.base.closing import BlockingContext
from bullrush.legacy.adding import LegacyAdding
from bullrush.legacy.bridging.calls import LegacyBridging
from bullrush.legacy.flavor import Flavor, check_flavor
from bullrush.legacy.migrating.calls import LegacyMigrating
from bullrush.values import checks
from bullrush.values.checks import Duration

_DEFAULT_TIMEOUT: Final = 10_000


class LegacyCalls(LegacyAdding, LegacyMigrating, LegacyBridging):
    """The calls of a queue of Bull, written once for `LegacyQueue` and `aio.LegacyQueue`."""

    def __init__(
        self,
        name: str,
        *,
        url: str | None = None,
        prefix: str = "bull",
        flavor: Flavor | int = "auto",
        timeout: Duration | None = _DEFAULT_TIMEOUT,
    ) -> None:
        """Make a handle of a queue of Bull. It connects at the first call, and writes nothing by itself.

        Args:
            name: the queue's name.
            url: the URL of Redis, as for `Queue`.
            prefix: the prefix of all keys, ``bull`` by default.
            flavor: the major version of Bull, "1" to "4" (or a number); ``auto`` finds it out by the keys and some jobs.
            timeout: ms that a round trip may take, connecting included. None is no limit.

        Raises:
            QueueNameError: the name is empty, or has a colon or control characters.
            InvalidOptionError: an argument has an invalid value.
        """
        self._given_flavor = check_flavor(flavor)
        options = {"url": url, "prefix": prefix, "flavor": flavor, "timeout": timeout, "allow_legacy": True}
        timeout_ms = None if timeout is None else checks.milliseconds("timeout", timeout)
        super().__init__(name, url, prefix, options=options, timeout_ms=timeout_ms)


class LegacyQueue(BlockingContext, LegacyCalls):
    """A queue of Bull, BullMQ's predecessor, versions 1 to 4. `bullrush.aio.LegacyQueue` has the same calls to be awaited.

    It writes nothing but what its calls say, and can be used while programs with Bull use the queue.
    """
