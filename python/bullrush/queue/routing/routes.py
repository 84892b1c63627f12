"""The routes of a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bullrush._core import CoreQueue, CoreTarget, route_base
from bullrush.errors import InvalidOptionError
from bullrush.job.handle import JobHandle
from bullrush.routing.target import Target, check_target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Self


class QueueRoutes(JobHandle):
    """The calls about the routes of a queue, and a queue that is a route."""

    _options: Mapping[str, object]
    #: The name of the base queue and the target, of a queue that `route` returned.
    _route: tuple[str, Target] | None = None
    _target: CoreTarget | None = None
    _routes: dict[tuple[object, ...], Self]

    def route(self, target: Target) -> Self:
        """Return the queue of the jobs with this target. Only workers whose profile matches take jobs from it.

        It is a queue of its own, named ``<queue>~<slug>``: it has its own custom ids, deduplication ids, job schedulers,
        limits and events. The first job that is added registers it with this queue, so that workers find it.

        Args:
            target: what the jobs need; see `Target`. Without any criterion the result is this queue.

        Raises:
            InvalidOptionError: the target is invalid, or this queue is a route itself.
        """
        checked = check_target("target", target)
        if not checked.slug:
            return self
        base = route_base(self._name)
        if base is not None:
            raise InvalidOptionError(
                f"{self._name!r} is a route, which has no routes: take the route of {type(self).__name__}({base!r})"
            )
        if self._closing:
            raise self._closed_error()
        fallback = checked.fallback
        key = (checked.canonical, checked.fallback_after, fallback and fallback.canonical)
        known = self._routes.get(key)
        # Two threads may both make one: the first one stays.
        return self._routes.setdefault(key, self._new_route(target, checked)) if known is None else known

    def _new_route(self, target: Target, checked: CoreTarget) -> Self:
        new: Callable[..., Self] = type(self)
        queue = new(checked.queue_of(self._name), **self._options)
        queue._become_route(self._name, target, checked)
        return queue

    def _become_route(self, base: str, target: Target, checked: CoreTarget) -> None:
        self._route, self._target = (base, target), checked
        self._core = None

    def _new_core_queue(self) -> CoreQueue:
        if self._route is None:
            return super()._new_core_queue()
        base, _ = self._route
        return CoreQueue(self._url, self._prefix, base, **self._core_settings, target=self._target)

    def _shut_down(self) -> None:
        super()._shut_down()
        for route in self._routes.values():
            route._shut_down()
        self._routes.clear()
