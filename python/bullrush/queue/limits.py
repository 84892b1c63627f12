"""Limits of a queue that hold for all its workers, and how many of them wake."""

from __future__ import annotations

from bullrush.base.handle import Handle
from bullrush.base.operation import operation, reply
from bullrush.values import checks
from bullrush.values.checks import Duration


class QueueLimits(Handle):
    """The calls that set and remove limits, and those about wake hints."""

    @operation
    async def rate_limit(self, expire_time: Duration) -> None:
        """Let no job start for ``expire_time`` ms.

        This applies to workers with a limiter, to all workers if the queue has a global rate limit, and to a worker
        whose handler raises `RateLimitError`.

        Args:
            expire_time: how long, in ms.

        Raises:
            InvalidOptionError: the time is not positive.
        """
        await reply(self.core.rate_limit(checks.positive_milliseconds("expire_time", expire_time)))

    @operation
    async def remove_rate_limit_key(self) -> int:
        """End the current rate limit. Returns 1 if there was one, else 0."""
        return await reply(self.core.end_rate_limit())

    @operation
    async def set_global_concurrency(self, concurrency: int) -> int:
        """Let at most ``concurrency`` jobs be active at the same time, over all workers.

        Returns 1 if there was no such limit, else 0.

        Args:
            concurrency: the most active jobs.
        """
        return await reply(self.core.set_global_concurrency(checks.at_least(1)("concurrency", concurrency)))

    @operation
    async def remove_global_concurrency(self) -> int:
        """Remove the global concurrency. Returns 1 if there was one, else 0."""
        return await reply(self.core.set_global_concurrency(None))

    @operation
    async def set_global_rate_limit(self, max: int, duration: Duration) -> int:
        """Let at most ``max`` jobs start per ``duration`` ms, over all workers.

        Returns how many of the two were not set before.

        Args:
            max: the most jobs that start in that time.
            duration: the time in ms.
        """
        most = checks.at_least(1)("max", max)
        return await reply(self.core.set_global_rate_limit((most, checks.positive_milliseconds("duration", duration))))

    @operation
    async def remove_global_rate_limit(self) -> int:
        """Remove the global rate limit. Returns 2 (its ``max`` and ``duration``) if there was one, else 0."""
        return await reply(self.core.set_global_rate_limit(None))

    @operation
    async def provide_wake_hint(self, count: int) -> int:
        """Let ``count`` more idle workers with ``notify=True`` wake. Returns how many may wake now: at most 1,024.

        A `Queue` with ``notify=True`` does this by itself. The number is in the key ``ext:hint`` and is forgotten 60 s
        after the last of these calls. One round trip.

        Args:
            count: how many more.

        Raises:
            RedisError: the key holds something else than a text.
        """
        return await reply(self.core.provide_wake_hint(checks.at_least(1)("count", count)))

    @operation
    async def consume_wake_hint(self, want: int = 1) -> int:
        """Ask how many jobs an idle worker may wake for, and take them from the number that was provided.

        Returns at most ``want``, and 0 if enough workers are awake. Returns 1 if no number is known: none was provided,
        it was forgotten, or the key holds no number. Workers with ``notify=True`` do this by themselves. One round
        trip.

        Args:
            want: the most, such as the worker's free slots.
        """
        return await reply(self.core.consume_wake_hint(checks.at_least(1)("want", want)))
