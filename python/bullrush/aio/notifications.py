"""Messages of other programs, on an event loop."""

from bullrush.base.closing import AsyncContext
from bullrush.notifications.callbacks import LoopCallbacks
from bullrush.notifications.notifications import NotificationsCalls


class Notifications(AsyncContext, NotificationsCalls):
    """Messages between programs for asyncio: `bullrush.Notifications` with its calls awaited.

    Callbacks, which may be coroutine functions, run on the loop on which `listen` was called. The function that
    `listen` returns is not awaited.
    """

    _new_callbacks = LoopCallbacks
