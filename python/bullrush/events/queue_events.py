"""Reading the event stream of a queue."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Annotated, Any, Final

from bullrush.base.at_exit import close_at_exit, forget_at_exit
from bullrush.base.closing import BlockingContext
from bullrush.base.handle import Handle
from bullrush.base.operation import operation, options_by_name, reply, run_blocking, sleep
from bullrush.base.options import HandleOptions
from bullrush.errors import BullrushError, ConnectionLostError, LegacyQueueError, QueueNameError
from bullrush.events.event import Event
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.options import Option, checked_options, declare_options

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from bullrush._core import CoreEvents, Pending

_READY_MS: Final = 10_000
#: How long `QueueEvents.on` waits for the server, to say at once that a queue cannot be used.
_CHECK_MS: Final = 1_000
#: What does not pass: the queue belongs to Bull, or its name is impossible on a cluster.
REFUSALS: Final = (LegacyQueueError, QueueNameError)
#: How long `QueueEvents.close` waits for a listener that is being called.
_CLOSE_SECONDS: Final = 0.1
_POLL: Final = 0.002

_log: Final = logging.getLogger("bullrush")


@declare_options
class QueueEventsOptions(HandleOptions, total=False):
    """Options of `QueueEvents`."""

    last_event_id: Annotated[
        str,
        Option(
            checks.text,
            default="$",
            doc=(
                "the id of the entry after which reading starts. ``$``, the default, is the current end of the stream;"
                " ``0-0`` is its beginning."
            ),
        ),
    ]
    blocking_timeout: Annotated[
        Duration,
        Option(
            checks.positive_milliseconds,
            default=10_000,
            doc=(
                "how long one blocking read lasts, in ms; 10,000. Events arrive at once whatever it is. On a "
                "connection that only looks open they arrive up to this time and 2 s later."
            ),
        ),
    ]
    autorun: Annotated[
        bool,
        Option(
            checks.boolean,
            default=True,
            doc=(
                "True, the default, connects at once and calls listeners as soon as there are any. Otherwise call "
                "`run`."
            ),
        ),
    ]


class QueueEventsCalls(Handle):
    """The calls of `QueueEvents`, written once for both APIs."""

    @options_by_name
    def __init__(self, name: str, **options: Unpack[QueueEventsOptions]) -> None:
        """Start to read the events of a queue, if ``autorun`` is set.

        Args:
            name: the queue's name.
            options: see `QueueEventsOptions`.

        Raises:
            QueueNameError: the name is empty, or has a colon or control characters.
            InvalidOptionError: an option does not exist or has an invalid value.
        """
        settings = checked_options(QueueEventsOptions, options, type(self).__name__)
        super().__init__(name, settings, options)
        self._last_event_id = None if settings.last_event_id == "$" else settings.last_event_id
        self._blocking_timeout: int = settings.blocking_timeout
        self._autorun: bool = settings.autorun
        self._lock = threading.Lock()
        self._reader: tuple[int, CoreEvents] | None = None
        self._running = False
        if self._autorun:
            self._events_core()

    def _is_here(self) -> bool:
        """Tell whether this process reads events. A forked child does not at first."""
        return self._reader is not None and self._reader[0] == os.getpid()

    def _events_core(self) -> CoreEvents:
        """Return the reader of this process; start it if there is none."""
        with self._lock:
            if self._closing:
                raise self._closed_error()
            if self._reader is None or not self._is_here():
                reader = self.core.new_events(
                    last_event_id=self._last_event_id, blocking_timeout=self._blocking_timeout
                )
                reader.start()
                self._reader, self._running = (os.getpid(), reader), False
            return self._reader[1]

    @operation
    async def wait_until_ready(self) -> None:
        """Connect. No event after this call is missed.

        Raises:
            ConnectionLostError: Redis could not be reached in time.
            RedisVersionError: the server is too old.
            LegacyQueueError: the queue belongs to Bull, BullMQ's predecessor.
        """
        await reply(self._following(_READY_MS))
        self._autostart()

    def _following(self, timeout_ms: int) -> Pending[None]:
        """Wait until the reader has its position in the stream: later events are not missed."""
        return self._events_core().ready(timeout_ms)

    def _outcome(self, job_id: str, timeout_ms: int, *, late: bool = False) -> Pending[tuple[str, str] | None]:
        """Start to wait for the last event of a job; with ``late``, also look among the last events.

        For `Job.wait_until_finished`.
        """
        return self._events_core().wait_until_finished(job_id, timeout_ms, late)

    def is_running(self) -> bool:
        """Return whether listeners are called."""
        return self._running and self._is_here()

    def _listen(self, event: str, listener: Any, *, once: bool) -> Any:
        listening = super()._listen(event, listener, once=once)
        if listener is not None:
            self._autostart()
        return listening

    def _autostart(self) -> None:
        """Start to call listeners in the background, if ``autorun`` is set and there are any."""

    def _begin(self) -> None:
        """Mark this object as running.

        Raises:
            RuntimeError: it runs already.
        """
        self._events_core()
        with self._lock:
            if self._running:
                raise RuntimeError("Queue Events is already running.")
            self._running = True

    def _end(self, events: EventIteration) -> None:
        events.leave()
        self._running = False

    def _emit_event(self, event: Event) -> None:
        """Call the listeners of an event, and those of the event with the job's id."""
        self.emit(event.event, event)
        if event.job_id is not None:
            self.emit(f"{event.event}:{event.job_id}", event)

    def _report_error(self, error: BullrushError) -> None:
        """Log an error of reading and emit ``error``. Reading continues when it can."""
        _log.log(logging.WARNING if isinstance(error, ConnectionLostError) else logging.ERROR, "%r: %s", self, error)
        self.emit("error", error)

    @operation
    async def close(self) -> None:
        """Stop reading. Loops over events end, and a wait for a job with this object raises `ClosedError`."""
        self._shut_down()
        left = _CLOSE_SECONDS
        while left > 0 and self.is_running() and not self._is_listener():
            await sleep(_POLL)
            left -= _POLL

    def _is_listener(self) -> bool:
        """Tell whether the caller is a listener."""
        return False

    def _shut_down(self) -> None:
        with self._lock:
            super()._shut_down()
            if self._reader is not None:
                self._reader[1].close()

    def _close_at_exit(self) -> None:
        """Let the background thread end."""
        self._shut_down()


class EventIteration:
    """One iteration over the events of a queue. It starts where the last one stopped."""

    def __init__(self, events: QueueEventsCalls, timeout: Duration | None) -> None:
        self._events = events
        self._timeout_ms = None if timeout is None else checks.milliseconds("timeout", timeout)
        self._entries: deque[tuple[str, dict[str, str]]] = deque()
        self._seen: str | None = None
        self._listening = events._events_core().listen()

    @property
    def needs_more(self) -> bool:
        """True if the next event has not been read yet."""
        return not self._entries

    def _next(self) -> Event:
        entry_id, fields = self._entries.popleft()
        self._seen = entry_id
        return Event(entry_id, fields)

    async def _more(self) -> bool:
        """Wait for more events; False if there are none. It is part of an operation."""
        while True:
            try:
                entries = await reply(self._listening.next(self._timeout_ms))
            except ConnectionLostError as error:
                self._events._report_error(error)
            else:
                self._entries.extend(entries or ())
                return bool(entries)

    def leave(self) -> None:
        """Stop listening. The next iteration starts after the last event that this one returned."""
        self._listening.leave(self._seen)

    def __del__(self) -> None:
        if hasattr(self, "_listening"):
            self.leave()


class Events(EventIteration):
    """An iterator that blocks until the next event."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        if self.needs_more and not run_blocking(self._more()):
            raise StopIteration
        return self._next()


class QueueEvents(BlockingContext, QueueEventsCalls):
    """The events of a queue from all programs: iterate over this object, or add listeners with `on`.

    It has its own connection, and starts at the current end of the stream (see ``last_event_id``). After a lost
    connection it continues without a gap. It reads at most 1,000 events ahead of a slow program; Redis keeps about
    10,000 events.

    A listener gets an `Event`. ``on("completed", f)`` is called for all jobs, ``on("completed:7", f)`` for job 7.
    Listeners are called one after the other, on a background thread or on the thread of `run`.

    Iteration, `run`, `wait_until_ready` and, with ``autorun``, `on` raise `LegacyQueueError` if the queue belongs to
    Bull, BullMQ's predecessor. For this the first `on` waits for the server, 1 s at most.
    """

    _thread: threading.Thread | None = None

    def iterate(self, timeout: Duration | None = None) -> Events:
        """Iterate over events until this object is closed, or until there was no event for ``timeout`` ms.

        After a ``break`` no event is lost: the next iteration continues there, unless something else has listened in
        the meantime.

        Args:
            timeout: the longest wait for an event, in ms; None waits without limit.
        """
        return Events(self, timeout)

    def __iter__(self) -> Events:
        return self.iterate()

    def run(self) -> None:
        """Call listeners until this object is closed. With ``autorun`` a background thread does this.

        Raises:
            RuntimeError: it runs already.
            LegacyQueueError: the queue belongs to Bull, BullMQ's predecessor.
        """
        self._begin()
        self._call_listeners(self.iterate())

    def _autostart(self) -> None:
        if self._autorun and self._made_listeners is not None and not self.is_running():
            self._check_now()
            self._begin()
            close_at_exit(self)
            threading.Thread(
                target=self._run_in_background,
                args=(self.iterate(),),
                name=f"bullrush-events-{self._name}",
                daemon=False,
            ).start()

    def _check_now(self) -> None:
        """Raise what reading would report for good. Other errors are reported by reading."""
        try:
            self._following(_CHECK_MS).wait()
        except REFUSALS:
            raise
        except BullrushError:
            pass

    def _run_in_background(self, events: Events) -> None:
        try:
            self._call_listeners(events)
        except REFUSALS as error:
            self._report_error(error)

    def _call_listeners(self, events: Events) -> None:
        self._thread = threading.current_thread()
        try:
            while not self._closing:
                try:
                    event = next(events)
                except StopIteration:
                    return
                except REFUSALS:
                    raise
                except BullrushError as error:
                    self._report_error(error)
                else:
                    self._emit_event(event)
        finally:
            self._end(events)
            forget_at_exit(self)

    def _is_listener(self) -> bool:
        return threading.current_thread() is self._thread
