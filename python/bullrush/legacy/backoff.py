"""Bull's delays between attempts, for jobs that were moved with ``keep_backoff=True``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bullrush.extending import checks

if TYPE_CHECKING:
    from bullrush.extending import JobFields


def bull_backoff(attempts_made: int, backoff_type: str, error: BaseException, job: JobFields) -> int:  # noqa: ARG001
    """Return Bull's delay before the next attempt; for ``Worker(backoff_strategy=bull_backoff)``.

    Bull waits ``(2^n - 1) * delay`` ms after failure ``n``, BullMQ ``2^(n-1) * delay``: 1, 3, 7 against 1, 2, 4 times
    the delay.

    Args:
        attempts_made: how many attempts failed.
        backoff_type: the type in the job's options; anything else than ``bull-exponential`` waits as a fixed delay.
        error: what the handler raised.
        job: the job.

    Returns:
        The delay in ms.
    """
    backoff = job.opts.get("backoff")
    delay = backoff.get("delay") if isinstance(backoff, dict) else None
    if not isinstance(delay, int | float):
        return 0
    return round((2**attempts_made - 1) * delay if backoff_type == checks.BULL_EXPONENTIAL else delay)
