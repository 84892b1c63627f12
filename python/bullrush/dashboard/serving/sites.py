"""Several dashboards in one server, each below its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bullrush.dashboard.addresses import Addresses, parts_of
from bullrush.dashboard.answer import Answer
from bullrush.dashboard.application import ABOVE
from bullrush.dashboard.refusal import RefusalError
from bullrush.dashboard.rendering import page, refusal_page, static


class Site(NamedTuple):
    """A dashboard of several.

    Attributes:
        name: a part of the path.
        redis: where its queues are, without a password.
        prefix: the prefix of their keys.
        app: what answers.
    """

    name: str
    redis: str
    prefix: str
    app: ASGIApp


class Sites:
    """Shares out the paths, and names all sites at ``/``. Who may come here is decided before, by the gate."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self._sites = {site.name: site for site in sites}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let the dashboard do so that it is for."""
        parts = parts_of(scope) if scope["type"] == "http" else []
        root = scope.get("root_path", "").rstrip("/")
        if parts and parts[0] in self._sites:
            inner = {**scope, "root_path": f"{root}/{parts[0]}", ABOVE: Addresses(root).of()}
            await self._sites[parts[0]].app(inner, receive, send)
        elif scope["type"] == "http":
            await self._respond(Request(scope, receive), parts)(scope, receive, send)
        else:
            await next(iter(self._sites.values())).app(scope, receive, send)

    def _respond(self, request: Request, parts: list[str]) -> Response:
        if parts[:1] == ["static"] and (file := static("/".join(parts[1:]))) is not None:
            return file
        if parts not in ([], [""]):
            return page(request, refusal_page(RefusalError(404, "There is no such server.")))
        named = [{"name": site.name, "redis": site.redis, "prefix": site.prefix} for site in self._sites.values()]
        return page(request, Answer("sites.html", "Servers", {"sites": named}), viewer="local")
