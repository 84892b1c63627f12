"""Queues of Bull, BullMQ's predecessor: what is said of them here, and that nothing changes them."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from bullrush.dashboard.answer import Asked, Done
from bullrush.dashboard.commands import command
from bullrush.dashboard.refusal import RefusalError
from bullrush.errors import LegacyQueueError
from bullrush.legacy import LegacyStatus, Signpost, advice

_BOTH: Final = (
    "Bull and BullMQ have both used the keys of this queue, so nothing is changed here. `bullrush doctor` says how to "
    "part them."
)


async def look_at_owner(asked: Asked) -> None:
    """Refuse to show a queue of Bull, and let nobody change one that BullMQ uses, too.

    Raises:
        RefusalError: only Bull uses its keys, or the viewer may not see it.
    """
    await asked.viewer.demand("view", asked.queue_name)
    status = await asked.source.of_bull(asked.queue_name)
    if status is None:
        return
    if status.kind != "both":
        raise RefusalError(409, await _said(asked, status))
    asked.viewer.barred = _BOTH


async def only_of_bullmq(asked: Asked, change: Awaitable[Done]) -> Done:
    """Make a change, and say of a queue of Bull what it is: its handle has refused it before anything was written.

    Raises:
        RefusalError: the queue is one of Bull, or its keys are of neither.
    """
    try:
        return await change
    except LegacyQueueError as error:
        status = await asked.source.of_bull(asked.queue_name, anew=True)
        # The error about a queue that has moved names another one, which the viewer may not see.
        if status is None or (status.kind == "both" and status.signpost is None):
            said = f"{error}."
        else:
            said = await _said(asked, status)
        raise RefusalError(409, f"Nothing was changed. {said}") from None


async def _said(asked: Asked, status: LegacyStatus) -> str:
    """Return what a queue of Bull is, and what reads and moves it."""
    here, prefix = [status.name], status.prefix
    if status.signpost is not None:
        left = command(["info"], here, prefix)
        return f"The jobs of this queue of Bull have moved {await _place(asked, status.signpost)}. `{left}` says more."
    said = advice(
        status,
        "these pages are",
        "see them here",
        count=command(["info"], here, prefix),
        move=command(["migrate"], here, prefix),
    )
    return f"{said}."


async def _place(asked: Asked, to: Signpost) -> str:
    if (to.prefix, to.place) == (asked.source.prefix, "") and not await asked.viewer.may("view", to.name):
        return "to a queue that you may not see"
    place = f" of the Redis at {to.place}" if to.place else ""
    return f"to the queue {to.name} with the prefix {to.prefix}{place}"
