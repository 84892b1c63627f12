"""What all classes share: an address in Redis, options, closing, and local events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypedDict
from weakref import WeakSet

from bullrush._core import QUEUE_KEYS, CoreQueue
from bullrush.base.emitter import Emitter
from bullrush.base.operation import operation, reply
from bullrush.errors import ClosedError
from bullrush.masking import masked
from bullrush.telemetry.protocol import NO_SPAN, Span, SpanKind, Telemetry, check_telemetry
from bullrush.url import check_url, given_url, resolve
from bullrush.values import checks
from bullrush.values.naming import check_prefix, check_queue_name, check_unicode, to_key

#: The parts of a queue that have a key of their own, as BullMQ lists them: "" is the beginning of the keys of jobs, ``de`` that of
#: deduplications.
_KEY_TYPES: Final = ("", *(key.name for key in QUEUE_KEYS if key.owner == "bullmq" and ":" not in key.name), "de")


class CoreSettings(TypedDict):
    """How a handle makes its compiled side."""

    max_len_events: int
    skip_metas_update: bool
    allow_legacy: bool
    fan_out: bool
    notify: bool
    durable: str | None
    payload_limit: int | None
    timeout_ms: int | None


class GivenOptions(dict[str, Any]):
    """The options of an object. ``repr`` hides the password of the URL."""

    def __repr__(self) -> str:
        return repr({name: masked(value) if name == "url" and value else value for name, value in self.items()})


class Connected(Emitter):
    """Base of everything that belongs to one Redis server and one key prefix."""

    _closing: bool | None = None

    def __init__(self, url: str | None, prefix: str, options: Mapping[str, object]) -> None:
        self._prefix = check_prefix(prefix)
        # Without a URL the environment is read at the first use: a queue may be a global of a module, and a test or a
        # program sets the variable after its import.
        self._resolved_url = None if check_url("url", url) is None else check_unicode("url", resolve(url))
        self._opts = GivenOptions(options)
        telemetry = options.get("telemetry")
        self._telemetry: Telemetry | None = None if telemetry is None else check_telemetry("telemetry", telemetry)

    @property
    def _url(self) -> str:
        """The URL to connect to."""
        if self._resolved_url is None:
            self._resolved_url = check_unicode("url", resolve(None))
            _FROM_ENVIRONMENT.add(self)
        return self._resolved_url

    def _forget_url(self) -> None:
        """Read the environment again at the next call."""
        self._resolved_url = None

    @property
    def _shown_url(self) -> str:
        """The URL for ``repr``, without its password. It resolves nothing: that may start a server."""
        return masked(self._resolved_url or given_url(None))

    @property
    def prefix(self) -> str:
        """The prefix of all keys, ``bull`` by default."""
        return self._prefix

    @property
    def opts(self) -> dict[str, Any]:
        """The options as given. ``repr`` hides the password of the URL."""
        return self._opts

    @property
    def telemetry(self) -> Telemetry | None:
        """The tracer of this object, None if it has none."""
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
        """Open a span around a block of code with this object's telemetry; do nothing if it has none.

        Args:
            operation: the first part of the span's name.
            destination: the second part of the span's name; the queue's name by default.
            kind: internal, producer or consumer.
            attributes: further attributes of the span.
        """
        if self._telemetry is None:
            yield NO_SPAN
            return
        queue: str = getattr(self, "name", "")
        target = queue if destination is None else destination
        all_attributes = {"bullmq.queue.name": queue, "bullmq.queue.operation": operation, **(attributes or {})}
        with self._telemetry.span(f"{operation} {target}".rstrip(), kind, all_attributes) as span:
            yield span

    @property
    def closing(self) -> bool | None:
        """None while the object is open, True once closing has begun."""
        return self._closing

    @operation
    async def close(self) -> None:
        """Close the object. Later calls raise `ClosedError`. Nothing changes in Redis."""
        self._shut_down()

    @operation
    async def disconnect(self) -> None:
        """Close the object at once, without waiting for anything."""
        self._shut_down()

    def _shut_down(self) -> None:
        self._closing = True

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"{self!r} is closed")


class Handle(Connected):
    """Base of the handles of one queue.

    A handle connects at its first call; all handles of a process and a URL share connections.
    """

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
        self._core_settings: CoreSettings = {
            "max_len_events": max_len_events,
            "skip_metas_update": skip_metas_update,
            "allow_legacy": checks.boolean("allow_legacy", options.get("allow_legacy", False)),
            "fan_out": checks.boolean("fan_out", options.get("fan_out", False)),
            "notify": checks.boolean("notify", options.get("notify", False)),
            "durable": checks.durable("durable", options.get("durable", False)),
            "payload_limit": checks.payload_limit("payload_limit", options.get("payload_limit", checks.PAYLOAD_LIMIT)),
            "timeout_ms": timeout_ms,
        }
        self._core: CoreQueue | None = None if url is None else self._new_core_queue()
        self._shut = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r} at {self._shown_url}>"

    def _new_core_queue(self) -> CoreQueue:
        return CoreQueue(self._url, self._prefix, self._name, **self._core_settings)

    @property
    def name(self) -> str:
        """The queue's name."""
        return self._name

    @property
    def qualified_name(self) -> str:
        """The prefix and the name, ``bull:video``: the beginning of all keys of the queue."""
        return f"{self._prefix}:{self._name}"

    def to_key(self, type: str) -> str:
        """Return the Redis key of a part of the queue (``wait``, ``meta``...), or of a job by its id.

        Args:
            type: the name of the part, or the job's id; "" is the beginning of all keys.
        """
        return check_unicode("The key", to_key(self._prefix, self._name, type))

    @property
    def keys(self) -> dict[str, str]:
        """The Redis keys of the queue by the name of the part: ``{"wait": "bull:video:wait", ...}``."""
        return {type: self.to_key(type) for type in _KEY_TYPES}

    @property
    def redis_version(self) -> str | None:
        """The version of the server, such as ``7.2.4``; None until a call of this process has reached it."""
        return self.core.redis_version()

    @property
    def core(self) -> CoreQueue:
        """Internal: the compiled side of the queue.

        Raises:
            ClosedError: the handle was closed.
        """
        if self._core is None:
            if self._shut:
                raise self._closed_error()
            # Two threads may both make one: they are equal.
            self._core = self._new_core_queue()
        return self._core

    @operation
    async def wait_until_ready(self) -> None:
        """Connect now, and check the server and the queue. Every other call does this by itself.

        Raises:
            ConnectionLostError: Redis could not be reached in time.
            RedisVersionError: the server is too old.
            LegacyQueueError: the queue belongs to Bull, BullMQ's predecessor.
        """
        await reply(self.core.prepare())

    def _forget_url(self) -> None:
        super()._forget_url()
        self._core = None

    def _shut_down(self) -> None:
        super()._shut_down()
        self._shut = True
        self._core = None


#: What has its URL from the environment.
_FROM_ENVIRONMENT: Final[WeakSet[Connected]] = WeakSet()


def forget_environment() -> None:
    """Let everything without a URL of its own read the environment again at its next call; for tests.

    Otherwise a queue that was used before a test would add the jobs of the test to the server of the program.
    """
    for one in list(_FROM_ENVIRONMENT):
        one._forget_url()
    _FROM_ENVIRONMENT.clear()
