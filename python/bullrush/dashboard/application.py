"""The app: who asks, for which page, and what is answered when that is not possible."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bullrush.dashboard.addresses import parts_of
from bullrush.dashboard.answer import Asked, Done
from bullrush.dashboard.audit import Audit
from bullrush.dashboard.bulk import Bulks
from bullrush.dashboard.history import Memory
from bullrush.dashboard.notices import Notices, way_back
from bullrush.dashboard.of_bull import look_at_owner
from bullrush.dashboard.origin import demand_same_origin
from bullrush.dashboard.refusal import RefusalError, refusal_of
from bullrush.dashboard.rendering import (
    Rows,
    is_polled,
    json,
    live_part,
    page,
    part,
    query_of,
    redirect,
    refusal_page,
    static,
    unchanged,
    wants_json,
)
from bullrush.dashboard.rights import Authenticate, Authorize, Viewer
from bullrush.dashboard.routes import ROUTES, Change, Look
from bullrush.dashboard.shared import Shared
from bullrush.dashboard.source import Source
from bullrush.errors import BullrushError
from bullrush.extending import Masks, check_prefix
from bullrush.url import address, resolve

#: Where a scope of ASGI has the address of the page that names all dashboards of this server, if there are several.
ABOVE: Final = "bullrush.above"
_TIMEOUT: Final = 5_000


def app(
    url: str | None = None,
    *,
    authenticate: Authenticate,
    authorize: Authorize,
    prefix: str = "bull",
    read_only: bool = False,
    mask: Iterable[str] = (),
    mask_text: Iterable[str] = (),
    origin: str | None = None,
    history: str | Path | None = None,
    audit: str | Path | None = None,
    name: str | None = None,
    timeout: int = _TIMEOUT,
) -> Dashboard:
    """Make the dashboard as an ASGI app, to be mounted in Starlette, FastAPI or Django below any path.

    Args:
        url: the URL of Redis; by default that of the environment.
        authenticate: takes a request of Starlette, and returns the name of who makes it, None for nobody. It may be
            async.
        authorize: takes the name, an action (view, data, run, remove, pause, edit) and the name of a queue, and tells
            whether that is allowed. It may be async.
        prefix: the prefix of the queues' keys.
        read_only: True lets nobody change anything.
        mask: the names of fields whose values nobody sees: at any depth of data, results and progress, and in texts
            that quote them.
        mask_text: regular expressions; what they match in texts and values nobody sees.
        origin: the scheme and host of the pages, such as ``https://ops.example.org``, if a proxy changes them.
        history: the file that a `bullrush.recorder.Recorder` writes of these queues. The app only reads it; it may
            come later.
        audit: the file to which each change is added: who has made it, from where, of what. By default the last ones
            are in memory.
        name: what these queues are for, such as ``production``; it stands on every page.
        timeout: ms that a round trip to Redis may take.

    Returns:
        The app. It connects at the first request.
    """
    memory = None if history is None else Memory(Path(history))
    source = Source(resolve(url), check_prefix(prefix), timeout, memory)
    kept = None if audit is None else Path(audit)
    return Dashboard(source, authenticate, authorize, Settings(read_only, Masks(mask, mask_text), origin, name, kept))


@dataclass(frozen=True)
class Settings:
    """What the owner of a dashboard has decided.

    Attributes:
        read_only: nobody changes anything.
        masks: what nobody sees.
        origin: our own origin; None: that of each request.
        name: what the queues are for.
        audit: the file that keeps who has changed what.
    """

    read_only: bool
    masks: Masks
    origin: str | None
    name: str | None
    audit: Path | None = None


class Dashboard:
    """The ASGI app."""

    def __init__(self, source: Source, authenticate: Authenticate, authorize: Authorize, settings: Settings) -> None:
        self._source = source
        self._authenticate = authenticate
        self._authorize = authorize
        self._settings = settings
        self._place = address(source.url)
        self._notices = Notices()
        self._shared = Shared()
        self._rows = Rows()
        self._bulks = Bulks()
        self._audit = Audit(settings.audit, self._place, source.prefix)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            request = Request(scope, receive)
            try:
                response = await self._respond(request)
            except ClientDisconnect:
                return  # nobody waits for the answer
            await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        parts = parts_of(request.scope)
        if parts[:1] == ["static"] and (file := static("/".join(parts[1:]))) is not None:
            return file
        around: dict[str, Any] = {"viewer": None, "place": None}
        try:
            viewer = await self._viewer(request)
            around = {
                "viewer": viewer.name,
                "place": self._place,
                "name_of_all": self._settings.name,
                "servers": request.scope.get(ABOVE),
                "read_only": self._settings.read_only,
            }
            route, named = _route(request, parts)
            form = await self._form(request, route)
            asked = Asked(request, viewer, self._source, self._settings.masks, named, form, self._bulks, self._audit)
            if isinstance(route, Look) and "queue" in named and not route.is_remembered:
                await look_at_owner(asked)
            if route.right != "each":
                await viewer.demand(route.right, asked.queue_name)
            if "queue" in named and not is_polled(request):
                self._source.forget(asked.queue_name)  # somebody has loaded its page, and wants to see what is
            if isinstance(route, Change):
                return self._changed(asked, await route.make(asked))
            if route.is_live and is_polled(request):
                return await self._polled(asked, route)
            notice = self._notices.of(request, viewer.name)
            answer = await route.handler(asked)
            return page(request, answer, self._rows, notice=notice, live=route.is_live, **around)
        except RefusalError as error:
            refused = error
        except BullrushError as error:
            refused = refusal_of(error)
        if is_polled(request):
            return part(live_part(request, self._rows, refusal_page(refused)), None, refused.status)
        return page(request, refusal_page(refused), **around)

    async def _viewer(self, request: Request) -> Viewer:
        found = self._authenticate(request)
        name = await found if inspect.isawaitable(found) else found
        if name is None:
            raise RefusalError(401, "Nobody is logged in.")
        return Viewer(name, self._authorize, self._source.prefix, read_only=self._settings.read_only)

    async def _form(self, request: Request, route: Look | Change) -> dict[str, str]:
        if isinstance(route, Look):
            return {}
        demand_same_origin(request, self._settings.origin)
        return await _form(request, route.longest)

    async def _polled(self, asked: Asked, route: Look) -> Response:
        """Return the live part of a page, or that it is still the same."""
        request = asked.request
        whose = asked.viewer.name if route.is_own else None
        name = (request.scope.get("root_path", ""), route.path, whose, *asked.parts.items(), query_of(request))
        render = partial(live_part, request, self._rows)
        found = await self._shared.text(name, asked.viewer, partial(route.handler, asked), render)
        if request.headers.get("if-none-match") == found.tag:
            return unchanged(found.tag)
        return part(found.html, found.tag)

    def _changed(self, asked: Asked, done: Done) -> Response:
        """Return what is said of a change: a reload must not make it again, so that a browser is led to a page."""
        self._shared.forget()
        self._source.forget()
        if wants_json(asked.request):
            return json(done.content())
        return redirect(way_back(asked.request, done, self._notices.keep(asked.viewer.name, done)))


def _route(request: Request, parts: list[str]) -> tuple[Look | Change, dict[str, str]]:
    asked = request.method.lower()
    method = "get" if asked == "head" else asked
    found = [(route, named) for route in ROUTES if (named := route.match(parts or [""])) is not None]
    for route, named in found:
        if route.method == method:
            return route, named
    if found:
        raise RefusalError(405, f"{request.method} is not for this address.")
    raise RefusalError(404, "There is no such page.")


async def _form(request: Request, longest: int) -> dict[str, str]:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > longest:
            raise RefusalError(413, "The form is too long.")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


async def _live(receive: Receive, send: Send) -> None:
    """Take part in the start and the end of the server: there is nothing to do."""
    while (message := await receive())["type"] != "lifespan.shutdown":
        await send({"type": f"{message['type']}.complete"})
    await send({"type": "lifespan.shutdown.complete"})
