"""The base of everything that has one queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from bullrush._core import QUEUE_KEYS, QUEUE_OPTIONS, CoreQueue
from bullrush.base.connected import Connected
from bullrush.base.operation import operation, reply
from bullrush.base.routes import Routes
from bullrush.values.encoding import encode
from bullrush.values.naming import check_queue_name, check_unicode, to_key

if TYPE_CHECKING:
    from typing_extensions import Self

    from bullrush.values.options import Settings


#: The parts of a queue that have a key of their own, as BullMQ lists them: "" is the beginning of the keys of jobs,
#: ``de`` that of deduplications.
_KEY_TYPES: Final = ("", *(key.name for key in QUEUE_KEYS if key.owner == "bullmq" and ":" not in key.name), "de")


def of_queue(settings: Settings) -> dict[str, object]:
    """Return those options of a queue that the core reads. Those of other kinds of objects have its defaults."""
    return {name: getattr(settings, name) for name in QUEUE_OPTIONS if hasattr(settings, name)}


class Handle(Connected):
    """Base of the handles of one queue.

    A handle connects at its first call; all handles of a process and a URL share connections.
    """

    #: The class of the jobs that calls return.
    _job_type: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        name: str,
        settings: Settings,
        given: Mapping[str, object],
        *,
        queue: Mapping[str, object] | None = None,
        worker: bytes | None = None,
    ) -> None:
        """Take the queue's name, the checked options and what was given.

        Args:
            name: the queue's name.
            settings: the checked options.
            given: the options as they were given.
            queue: the options of the queue for the core, where names in ``settings`` mean something else.
            worker: the options of the worker for the core.
        """
        self._name = check_queue_name(name)
        super().__init__(settings, given)
        self._core_settings = of_queue(settings) if queue is None else queue
        self._core_worker = worker
        self._routes = Routes()
        self._core: CoreQueue | None = None if settings.url is None else self._new_core_queue()
        self._shut = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r} at {self._shown_url}>"

    def _new_core_queue(self) -> CoreQueue:
        routes, options = self._routes, encode(self._core_settings, "options")
        name = routes.base or self._name
        return CoreQueue(self._url, self._prefix, name, options, target=routes.target, worker=self._core_worker)

    def _same_for(self, name: str) -> Self:
        """Return a handle of a route with the same options; which BullMQ it follows is said by its queue."""
        new: Callable[..., Self] = type(self)
        return new(name, **{option: value for option, value in self._opts.items() if option != "compat"})

    def _job(self, record: Any) -> Any:
        """Return a job of this queue."""
        return self._job_type(record, self)

    @property
    def _job_worker(self) -> Any:
        """The worker that runs the jobs which come from here: none."""
        return None

    def _report_progress(self, job: Any, progress: object) -> None:
        """Emit ``progress`` for a job that came from here."""
        self.emit("progress", job, progress)

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
        """The compiled side of the queue, for the parts of bullrush that stand on it.

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
        self._routes.shut_down()


def core_of(handle: Handle, name: str) -> CoreQueue:
    """Return another queue with the options of this one, such as a route. No call on it registers a route."""
    settings = {**handle._core_settings, "skip_metas_update": True}
    return CoreQueue(handle._url, handle.prefix, name, encode(settings, "options"))
