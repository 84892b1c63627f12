"""What every class has: a place in Redis, options, an end, and local events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from bullrush._core import CoreQueue
from bullrush.base.emitter import Emitter
from bullrush.base.operation import operation, reply
from bullrush.errors import ClosedError
from bullrush.telemetry.protocol import NO_SPAN, Span, SpanKind, Telemetry, check_telemetry
from bullrush.url import masked, resolve
from bullrush.values.naming import carried, check_prefix, check_queue_name

#: What a queue keeps in Redis, by the names BullMQ has for it. "" is how the keys of its jobs begin.
_KEY_TYPES: Final = (
    "",
    "active",
    "wait",
    "waiting-children",
    "paused",
    "id",
    "delayed",
    "prioritized",
    "stalled-check",
    "completed",
    "failed",
    "stalled",
    "repeat",
    "limiter",
    "meta",
    "events",
    "pc",
    "marker",
    "de",
)


class GivenOptions(dict[str, Any]):
    """The options an object was made with. Shown without a password."""

    def __repr__(self) -> str:
        return repr({name: masked(value) if name == "url" and value else value for name, value in self.items()})


class Connected(Emitter):
    """Lives in one Redis, under one prefix."""

    #: What `closing` says.
    _closing: bool | None = None

    def __init__(self, url: str | None, prefix: str, options: Mapping[str, object]) -> None:
        self._prefix = check_prefix(prefix)
        self._url = resolve(url)
        self._opts = GivenOptions(options)
        telemetry = options.get("telemetry")
        self._telemetry: Telemetry | None = None if telemetry is None else check_telemetry("telemetry", telemetry)

    @property
    def prefix(self) -> str:
        """How all keys begin."""
        return self._prefix

    @property
    def opts(self) -> dict[str, Any]:
        """The options as given. Shown, it hides the password of the URL."""
        return self._opts

    @property
    def telemetry(self) -> Telemetry | None:
        """Who traces what is done through this object."""
        return self._telemetry

    @contextmanager
    def trace(
        self,
        operation: str,
        destination: str | None = None,
        *,
        kind: SpanKind = "internal",
        attributes: Mapping[str, Any] | None = None,
    ) -> Iterator[Span]:
        """Open a span around a block of code, with this object's telemetry; without any, do nothing.

        Args:
            operation: what is done; begins the span's name.
            destination: to what it is done, the queue by default; ends the span's name.
            kind: internal, producer or consumer.
            attributes: more to say about it.
        """
        if self._telemetry is None:
            yield NO_SPAN
            return
        queue: str = getattr(self, "name", "")
        place = queue if destination is None else destination
        said = {"bullmq.queue.name": queue, "bullmq.queue.operation": operation, **(attributes or {})}
        with self._telemetry.span(f"{operation} {place}".rstrip(), kind, said) as span:
            yield span

    @property
    def closing(self) -> bool | None:
        """None; True from the moment on when closing began."""
        return self._closing

    @operation
    async def close(self) -> None:
        """Give the object up. Calls after this raise `ClosedError`; what is in Redis stays as it is."""
        self._give_up()

    @operation
    async def disconnect(self) -> None:
        """Close without waiting for anything."""
        self._give_up()

    def _give_up(self) -> None:
        self._closing = True


class Handle(Connected):
    """Names a queue and connects to it at the first call. All handles of a process and URL share their connections."""

    def __init__(
        self,
        name: str,
        url: str | None,
        prefix: str,
        *,
        options: Mapping[str, object],
        max_len_events: int = 10_000,
        skip_metas_update: bool = True,
        timeout_ms: int | None = 10_000,
    ) -> None:
        self._name = check_queue_name(name)
        super().__init__(url, prefix, options)
        self._core: CoreQueue | None = CoreQueue(
            self._url,
            self._prefix,
            self._name,
            max_len_events=max_len_events,
            skip_metas_update=skip_metas_update,
            timeout_ms=timeout_ms,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r} at {masked(self._url)}>"

    @property
    def name(self) -> str:
        """The queue's name."""
        return self._name

    @property
    def qualified_name(self) -> str:
        """Prefix and name: how the queue's keys begin."""
        return f"{self._prefix}:{self._name}"

    def to_key(self, type: str) -> str:
        """Return the key of a part of the queue (``wait``, ``meta``...) or of a job, by its id."""
        return carried("The key", f"{self._prefix}:{self._name}:{type}")

    @property
    def keys(self) -> dict[str, str]:
        """The queue's keys in Redis, by the names of what they hold."""
        return {type: self.to_key(type) for type in _KEY_TYPES}

    @property
    def redis_version(self) -> str | None:
        """The version of the server; None as long as no call of this process has reached it."""
        return self.core.redis_version()

    @property
    def core(self) -> CoreQueue:
        """The compiled side of the queue.

        Raises:
            ClosedError: the handle was closed.
        """
        if self._core is None:
            raise ClosedError(f"{self!r} is closed")
        return self._core

    @operation
    async def wait_until_ready(self) -> None:
        """Connect now and check the server and the queue. Every other call does so by itself.

        Raises:
            ConnectionLostError: Redis could not be reached in time.
            RedisVersionError: the server is too old.
            LegacyQueueError: the queue belongs to Bull, BullMQ's predecessor.
        """
        await reply(self.core.prepare())

    def _give_up(self) -> None:
        super()._give_up()
        self._core = None
