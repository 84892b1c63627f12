"""Which worker holds a job: the token of its lock begins with what is unique to that worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from bullrush.base.operation import reply

if TYPE_CHECKING:
    from bullrush._core import CoreQueue

_NO_END: Final = -1


class Hold(NamedTuple):
    """How a job is held.

    Attributes:
        worker: what is unique to the worker that holds it; None if its lock has ended.
        left: for how many ms its lock holds; None for a lock without an end, and without a lock.
    """

    worker: str | None
    left: int | None


async def holds(core: CoreQueue, ids: Sequence[str]) -> list[Hold]:
    """Return how jobs are held, in one round trip; awaited inside an operation.

    Args:
        core: the compiled side of the queue.
        ids: the ids of at most some thousand jobs.
    """
    return [_hold(token, left) for token, left in await reply(core.locks(ids))] if ids else []


def _hold(token: bytes | None, left: int) -> Hold:
    if token is None:
        return Hold(None, None)
    text = token.decode(errors="replace")
    # Behind the last colon stands a number that differs from job to job.
    return Hold(text.rpartition(":")[0] or text, None if left == _NO_END else max(left, 0))
