"""Who looks, and what they may see and do."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Literal, TypeAlias, get_args

from starlette.requests import Request

from bullrush.dashboard.refusal import RefusalError

#: view: counts, ids, names and times. data: data, results, logs and the texts of errors. run: retry, promote, cancel.
#: remove: remove jobs. pause: pause and resume a queue. edit: what changes a job.
Action: TypeAlias = Literal["view", "data", "run", "remove", "pause", "edit"]
#: Returns who makes a request, None for nobody.
Authenticate: TypeAlias = Callable[[Request], "str | Awaitable[str | None] | None"]
#: Tells whether somebody (by name) may do something (an `Action`) in a queue (by name).
Authorize: TypeAlias = Callable[[str, Action, str], "bool | Awaitable[bool]"]

ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
#: What changes nothing: all that is left if the dashboard is read-only.
_LOOKING: Final = frozenset({"view", "data"})


class Viewer:
    """Somebody who looks at a page, for the time of one request."""

    def __init__(self, name: str, authorize: Authorize, prefix: str, *, read_only: bool) -> None:
        self.name = name
        self._authorize = authorize
        self._read_only = read_only
        #: Why nothing is changed in the queue of this request; None if something may be.
        self.barred: str | None = None
        #: What `authorize` has said for this request.
        self.answers: dict[tuple[Action, str], bool] = {}
        #: A key of a job in a text that we or BullMQ wrote, such as "child bull:video:7 failed".
        self._key: re.Pattern[str] = re.compile(rf"{re.escape(prefix)}:([^:\n]+):")
        #: The same with another prefix, of whose queues nobody can be asked.
        self._elsewhere: re.Pattern[str] = re.compile(
            rf"(?:\bchild |\bchild: |\bchildren: |\), )(?!{re.escape(prefix)}:)[^\s:]+:[^:\n]+:"
        )

    async def may(self, action: Action, queue: str) -> bool:
        """Tell whether the viewer may do something in a queue. It is asked once per request."""
        if (self._read_only or self.barred) and action not in _LOOKING:
            return False
        asked = (action, queue)
        if asked not in self.answers:
            found = self._authorize(self.name, action, queue)
            self.answers[asked] = bool(await found if inspect.isawaitable(found) else found)
        return self.answers[asked]

    async def rights(self, queue: str) -> list[Action]:
        """Return all that the viewer may do in a queue."""
        return [action for action in ACTIONS if await self.may(action, queue)]

    async def seen(self, queues: Iterable[str]) -> list[str]:
        """Return the queues of which the viewer may know."""
        return [name for name in queues if await self.may("view", name)]

    async def demand(self, action: Action, queue: str) -> None:
        """Refuse what the viewer may not do.

        Raises:
            RefusalError: a queue that the viewer may not see is answered like one that does not exist.
        """
        if not await self.may("view", queue):
            raise RefusalError.no_queue(queue)
        if not await self.may(action, queue):
            why = "This dashboard is read-only." if self._read_only else f"You have no right {action!r} in this queue."
            raise RefusalError(403, self.barred or why)

    async def names_only_seen(self, text: str) -> bool:
        """Tell whether a text that a library wrote names jobs only of queues that the viewer may see."""
        if self._elsewhere.search(text):
            return False
        return all([await self.may("view", name) for name in set(self._key.findall(text))])
