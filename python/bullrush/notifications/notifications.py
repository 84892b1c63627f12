"""Listening to messages of other programs, and publishing them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar, Final

from bullrush._core import CoreNotifications
from bullrush.base.closing import BlockingContext
from bullrush.base.connected import Connected
from bullrush.base.operation import operation, options_by_name, reply
from bullrush.base.options import ServerOptions
from bullrush.errors import InvalidOptionError
from bullrush.notifications.callbacks import Callbacks, Listener, ThreadCallbacks, is_coroutine_function
from bullrush.values.naming import check_unicode, nearest
from bullrush.values.options import checked_options

#: Channel -> what its keys are.
CHANNELS: Final = {
    "sched": "<queue>: jobs wait there",
    "chainc": "<queue>:<job id>: the job has finished",
    "owls": "<queue>:<job id>: the job was taken away from its worker",
}
#: Their keys name a job.
_OF_JOBS: Final = frozenset({"chainc", "owls"})
#: How long, in ms, Redis may take to confirm a subscription, or to publish.
_TIMEOUT_MS: Final = 10_000
#: A longer message could have more than 1 MB: then those who listen leave the server.
_LONGEST_KEY: Final = 100_000


class NotificationsCalls(Connected):
    """The calls of `Notifications`, written once for both APIs."""

    _events: ClassVar = {}
    _new_callbacks: ClassVar[type[Callbacks]]

    @options_by_name
    def __init__(self, url: str | None = None, prefix: str = "bull") -> None:
        """Make an object that listens and publishes. It connects at the first call.

        Args:
            url: the URL of Redis; see `QueueOptions`.
            prefix: the prefix of the channels, which is that of the queues.

        Raises:
            InvalidOptionError: an argument has an invalid value.
        """
        given = {"url": url, "prefix": prefix}
        super().__init__(checked_options(ServerOptions, given, type(self).__name__), given)
        self._lock = threading.Lock()
        #: Those in use: one, or with asyncio one per event loop.
        self._callbacks: list[Callbacks] = []

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._prefix!r} at {self._shown_url}>"

    @operation
    async def listen(self, channel: str, key: str, callback: Callable[..., Any]) -> Callable[[], None]:
        """Call a function at every message of a channel that is equal to ``key``, and after each reconnect.

        A call says that something may have happened: look. Messages may get lost, and while the connection is gone they
        do; so every callback is called once when it is back. Do not depend on calls: look now and then anyway.

        Calls of one callback never overlap. A callback that raises is logged; the others are called all the same.

        Args:
            channel: ``sched`` (the key is a queue's name: jobs wait there), ``chainc`` (``<queue>:<job id>``: the job
                has finished) or ``owls`` (``<queue>:<job id>``: the job was taken away from its worker).
            key: the message to wait for.
            callback: called without arguments, or with the key if it has a parameter without a default.

        Returns:
            A function that ends the listening. Further calls of it do nothing.

        Raises:
            InvalidOptionError: there is no such channel, or another argument is not usable.
            ConnectionLostError: Redis could not be reached in time.
            RedisServerError: Redis refuses the subscription.
            ClosedError: this object was closed.

        Redis:
            One connection per process and server, for all listeners. A channel's first listener subscribes; half a
            second after the last one has left, the channel is unsubscribed, and after the last channel the connection
            is closed.
        """
        name = _check_channel(channel)
        listener = Listener(_check_key("key", key, name), callback)
        if not self._new_callbacks.awaits and is_coroutine_function(callback):
            raise InvalidOptionError(
                "callback must not be a coroutine function; bullrush.aio.Notifications takes these"
            )
        number = None
        while number is None:
            callbacks = self._open_callbacks()
            number = callbacks.add(name, listener)
        try:
            await reply(callbacks.core.confirmed(number, _TIMEOUT_MS))
        except BaseException:
            callbacks.remove(number)
            raise
        return lambda: callbacks.remove(number)

    @operation
    async def publish(self, channel: str, message: str) -> int:
        """Publish a message, and return how many connections have got it.

        Args:
            channel: ``sched``, ``chainc`` or ``owls``; see `listen`.
            message: the key for which callbacks are called.

        Raises:
            InvalidOptionError: there is no such channel, or the message is not a text.
            ConnectionLostError: Redis could not be reached in time.
            OutcomeUnknownError: Redis did not answer in time.
            RedisServerError: Redis refuses to publish.
            ClosedError: this object was closed.

        Redis:
            One ``PUBLISH``.
        """
        if self._closing:
            raise self._closed_error()
        core = CoreNotifications(self._url, self._prefix)
        return await reply(core.publish(_check_channel(channel), _check_key("message", message), _TIMEOUT_MS))

    def _listen(self, event: str, listener: Any, *, once: bool) -> Any:  # noqa: ARG002
        raise InvalidOptionError(
            f"{type(self).__name__} has no events such as {event!r}: use listen(channel, key, callback)"
        )

    def _open_callbacks(self) -> Callbacks:
        """Return the listeners of this process, and of the running loop if there is one."""
        with self._lock:
            if self._closing:
                raise self._closed_error()
            self._callbacks = [callbacks for callbacks in self._callbacks if callbacks.is_open()]
            for callbacks in self._callbacks:
                if callbacks.is_usable():
                    return callbacks
            self._callbacks.append(self._new_callbacks(CoreNotifications(self._url, self._prefix)))
            return self._callbacks[-1]

    def _shut_down(self) -> None:
        with self._lock:
            super()._shut_down()
            for callbacks in self._callbacks:
                callbacks.end()


def _check_channel(channel: object) -> str:
    if not isinstance(channel, str) or channel not in CHANNELS:
        raise InvalidOptionError(f"There is no channel {channel!r}.{nearest(str(channel), CHANNELS)}")
    return channel


def _check_key(name: str, key: object, channel: str = "") -> str:
    if not isinstance(key, str) or not key:
        raise InvalidOptionError(f"{name} must be a text that is not empty, not {key!r}")
    if len(key) > _LONGEST_KEY:
        raise InvalidOptionError(f"{name} must have at most {_LONGEST_KEY:,} characters, not {len(key):,}")
    if key.endswith(":"):
        raise InvalidOptionError(f"{name} must not end with a colon: {key!r}")
    if channel in _OF_JOBS and not all(key.partition(":")[::2]):
        raise InvalidOptionError(
            f"{name} must be the queue and the id of a job for the channel {channel}, "
            f'f"{{job.queue_name}}:{{job.id}}", not {key!r}'
        )
    return check_unicode(name, key)


class Notifications(BlockingContext, NotificationsCalls):
    """Messages between programs: hints that jobs wait, that a job has finished, or that it was taken away.

    Callbacks run on threads of their own, up to 32 at a time. A forked child has no listeners at first.
    """

    _new_callbacks = ThreadCallbacks
