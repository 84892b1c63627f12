"""Which address is which page or change, and the right that it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from bullrush.dashboard import actions
from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.pages.failures import failures
from bullrush.dashboard.pages.job import job
from bullrush.dashboard.pages.jobs import jobs
from bullrush.dashboard.pages.overview import overview
from bullrush.dashboard.pages.schedulers import schedulers
from bullrush.dashboard.pages.workers import workers
from bullrush.dashboard.rights import Action


@dataclass(frozen=True)
class Route:
    """An address.

    Attributes:
        method: that of HTTP; get looks, post changes.
        path: its parts; those in braces are names. The last one takes all that is left.
        right: what it needs in the queue that the address names; ``each`` asks per queue that it shows.
        handler: what answers.
    """

    method: Literal["get", "post"]
    path: str
    right: Action | Literal["each"]
    handler: Callable[[Asked], Awaitable[Answer]]

    def match(self, parts: Sequence[str]) -> dict[str, str] | None:
        """Return what the parts of an address name; None if it is another one."""
        wanted = self.path.strip("/").split("/")
        if wanted[-1] == "{id}" and len(parts) > len(wanted):
            # A proxy may have decoded the slashes of an id.
            parts = [*parts[: len(wanted) - 1], "/".join(parts[len(wanted) - 1 :])]
        if len(parts) != len(wanted):
            return None
        named: dict[str, str] = {}
        for want, part in zip(wanted, parts, strict=True):
            if want.startswith("{"):
                named[want.strip("{}")] = part
            elif want != part:
                return None
        return named


ROUTES: Final = (
    Route("get", "/", "each", overview),
    Route("get", "/q/{queue}", "view", jobs),
    Route("get", "/q/{queue}/jobs/{id}", "view", job),
    Route("get", "/q/{queue}/failures", "data", failures),
    Route("get", "/q/{queue}/workers", "view", workers),
    Route("get", "/q/{queue}/schedulers", "view", schedulers),
    Route("post", "/q/{queue}/retry", "run", actions.retry),
    Route("post", "/q/{queue}/promote", "run", actions.promote),
    Route("post", "/q/{queue}/remove", "remove", actions.remove),
    Route("post", "/q/{queue}/pause", "pause", actions.pause),
    Route("post", "/q/{queue}/resume", "pause", actions.resume),
    Route("post", "/q/{queue}/failures/retry", "run", actions.retry_group),
)
