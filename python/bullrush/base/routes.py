"""The routes of a queue for which a program has handles: queues of their own for jobs with a target."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakValueDictionary

from bullrush.routing.target import Target, check_base, check_target, route_key

if TYPE_CHECKING:
    from bullrush._core import CoreTarget

#: A `bullrush.base.handle.Handle`, of which this is a part.
HandleT = TypeVar("HandleT", bound=Any)

#: The newest handles stay although the program has none of them: twice as many as a queue may have routes at a time.
#: Names of machines change, and one handle takes about 18 kB.
_KEPT: Final = 512


class Routes:
    """The handles of the routes of one handle; and, if that is a route itself, what it is a route of.

    Attributes:
        base: the name of the base queue, if the handle is that of a route.
        given: its target as it was given.
        target: its target.
    """

    def __init__(self) -> None:
        self.base: str | None = None
        self.given: Target | None = None
        self.target: CoreTarget | None = None
        self._handles: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
        self._newest: OrderedDict[tuple[object, ...], Any] = OrderedDict()
        #: The last fallback that was given for a route.
        self._fallbacks: dict[str, tuple[object, ...]] = {}

    def to(self, handle: HandleT, target: Target) -> HandleT:
        """Return the handle of the route with this target; ``handle`` itself if the target has no criterion.

        Raises:
            InvalidOptionError: the target is invalid, or this queue is a route itself.
            ClosedError: the handle was closed.
        """
        checked = check_target("target", target)
        if not checked.slug:
            return handle
        check_base(handle.name)
        if handle.closing:
            raise handle._closed_error()
        key = route_key(checked)
        known = self._handles.get(key)
        if checked.fallback_after is not None and self._fallbacks.setdefault(checked.slug, key) != key:
            # It was given otherwise since: it has to be written again, since the last one counts.
            self._fallbacks[checked.slug] = key
            if known is not None:
                known._core = None
        if known is not None and known.closing:
            # The program has closed the route, but not this queue.
            self._handles.pop(key, None)
            self._newest.pop(key, None)
            known = None
        if known is None:
            route = handle._same_for(checked.queue_of(handle.name))
            route._routes.become(route, handle.name, target)
            # Two threads may both make one: the first one stays.
            known = self._handles.setdefault(key, route)
            self._newest[key] = known
            if len(self._newest) > _KEPT:
                self._newest.popitem(last=False)
        found: HandleT = known
        return found

    def of_target(self, handle: HandleT, opts: Mapping[str, object]) -> tuple[HandleT, Mapping[str, object]]:
        """Return the handle for a job with these options, and the options without the target."""
        if not isinstance(opts, Mapping) or "target" not in opts:
            return handle, opts
        others = {name: value for name, value in opts.items() if name != "target"}
        target: Any = opts["target"]
        return handle if target is None else self.to(handle, target), others

    def become(self, handle: Any, base: str, target: Target) -> None:
        """Make the handle, of which this is a part, that of a route."""
        self.base, self.given, self.target = base, target, check_target("target", target)
        handle._core = None

    def forget_registrations(self) -> None:
        """Register each route again before the next job is added to it."""
        for route in list(self._handles.values()):
            route._core = None

    def shut_down(self) -> None:
        """Close the handles of the routes."""
        for route in list(self._handles.values()):
            route._shut_down()
        self._handles.clear()
        self._newest.clear()
