"""The base of handles whose queue has routes: queues for jobs with a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bullrush._core import CoreQueue, CoreTarget
from bullrush.job.handle import JobHandle
from bullrush.routing.target import Target, check_base, check_target, route_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self


class RoutedHandle(JobHandle):
    """A handle of a queue that has routes, or of a route."""

    _options: Mapping[str, object]
    _routes: dict[tuple[object, ...], Self]
    #: The last fallback that was given for a route.
    _given: dict[str, tuple[object, ...]]
    #: The name of the base queue and the target, of a handle that `route` returned.
    _route: tuple[str, Target] | None = None
    _target: CoreTarget | None = None

    def route(self, target: Target) -> Self:
        """Return the queue of the jobs with this target. Only workers whose profile matches take jobs from it.

        It is a queue of its own, named ``<queue>~<slug>``: it has its own custom ids, deduplication ids, job schedulers,
        limits and events. The first job that is added registers it with this queue, so that workers find it;
        ``wait_until_ready()`` of the route registers it without a job.

        Args:
            target: what the jobs need; see `Target`. Without any criterion the result is this queue.

        Raises:
            InvalidOptionError: the target is invalid, or this queue is a route itself.
        """
        checked = check_target("target", target)
        if not checked.slug:
            return self
        check_base(self._name)
        if self._closing:
            raise self._closed_error()
        key = route_key(checked)
        known = self._routes.get(key)
        if checked.fallback_after is not None and self._given.setdefault(checked.slug, key) != key:
            # It was given otherwise since: it has to be written again, since the last one counts.
            self._given[checked.slug] = key
            if known is not None:
                known._core = None
        if known is not None and known._closing:
            # The program has closed the route, but not this queue.
            self._routes.pop(key, None)
            known = None
        # Two threads may both make one: the first one stays.
        return self._routes.setdefault(key, self._new_route(target, checked)) if known is None else known

    def _of_target(self, opts: Mapping[str, object]) -> tuple[Self, Mapping[str, object]]:
        """Return the queue for a job with these options, and the options without the target."""
        if not isinstance(opts, Mapping) or "target" not in opts:
            return self, opts
        others = {name: value for name, value in opts.items() if name != "target"}
        target: Target | None = opts["target"]  # type: ignore[assignment]
        return self if target is None else self.route(target), others

    def _new_route(self, target: Target, checked: CoreTarget) -> Self:
        new: Callable[..., Self] = type(self)
        route = new(checked.queue_of(self._name), **self._options)
        route._become_route(self._name, target, checked)
        return route

    def _become_route(self, base: str, target: Target, checked: CoreTarget) -> None:
        self._route, self._target = (base, target), checked
        self._core = None

    def _forget_registrations(self) -> None:
        """Register each route again before the next job is added to it."""
        for route in self._routes.values():
            route._core = None

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
