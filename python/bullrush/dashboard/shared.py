"""Answers for pages that ask again and again: one for all who may see the same, for the time between two questions."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2s
from time import monotonic
from typing import Final, TypeAlias

from bullrush.dashboard.answer import Answer
from bullrush.dashboard.refusal import RefusalError
from bullrush.dashboard.rights import Action, Viewer
from bullrush.errors import BullrushError

#: Makes HTML of an answer.
Render: TypeAlias = Callable[[Answer], str]
#: Seconds between two questions of a page.
POLL_EVERY: Final = 2
#: An answer is given again for a little less: who asks alone gets a new one each time, also if a timer is early.
_FRESH: Final = 0.95 * POLL_EVERY
#: More pages than these are not kept.
_MOST: Final = 500


@dataclass(frozen=True)
class Text:
    """The live part of a page as HTML.

    Attributes:
        html: the part.
        tag: its name; another part has another one.
    """

    html: str
    tag: str

    @classmethod
    def of(cls, html: str) -> Text:
        """Name a part."""
        return cls(html, f'"{blake2s(html.encode(), digest_size=12).hexdigest()}"')


@dataclass(frozen=True)
class _Kept:
    """What was answered, when it was asked for, and what `authorize` had said meanwhile."""

    at: float
    outcome: Text | RefusalError | BullrushError
    rights: Mapping[tuple[Action, str], bool]


@dataclass
class _Page:
    """What was answered of a page lately, and who asks for it now: the others wait for that answer."""

    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    kept: list[_Kept] = field(default_factory=list)


class Shared:
    """The live parts of the pages that somebody looks at.

    A part is made of Redis and of what `authorize` has said of who asked first. Somebody else gets it only if
    `authorize` says the same of them, whatever it was asked for this part.
    """

    def __init__(self) -> None:
        self._pages: OrderedDict[Hashable, _Page] = OrderedDict()

    def forget(self) -> None:
        """Forget all: somebody has changed something, and wants to see that."""
        self._pages.clear()

    async def text(self, name: Hashable, viewer: Viewer, ask: Callable[[], Awaitable[Answer]], render: Render) -> Text:
        """Return the live part of a page.

        Args:
            name: what is asked for: the address of the page.
            viewer: who asks.
            ask: makes the answer.
            render: makes HTML of it.

        Raises:
            RefusalError: there is no such page for this viewer.
            BullrushError: Redis does not answer.
        """
        page = self._page(name)
        async with page.asking:
            found = await _fitting(page, viewer)
            if found is None:
                found = await _asked(viewer, ask, render)
                page.kept.append(found)
        if isinstance(found.outcome, Text):
            return found.outcome
        raise found.outcome

    def _page(self, name: Hashable) -> _Page:
        page = self._pages.setdefault(name, _Page())
        self._pages.move_to_end(name)
        if len(self._pages) > _MOST:
            self._pages.popitem(last=False)
        return page


async def _fitting(page: _Page, viewer: Viewer) -> _Kept | None:
    """Return what was answered lately to somebody who may see the same."""
    page.kept = [kept for kept in page.kept if monotonic() - kept.at < _FRESH]
    for kept in page.kept:
        if all([await viewer.may(*asked) == answer for asked, answer in kept.rights.items()]):
            return kept
    return None


async def _asked(viewer: Viewer, ask: Callable[[], Awaitable[Answer]], render: Render) -> _Kept:
    at = monotonic()
    outcome: Text | RefusalError | BullrushError
    try:
        outcome = Text.of(render(await ask()))
    except (RefusalError, BullrushError) as error:
        # A Redis that does not answer is waited for once, too.
        outcome = error
    return _Kept(at, outcome, dict(viewer.answers))
