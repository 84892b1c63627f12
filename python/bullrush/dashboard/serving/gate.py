"""Who gets in: who has the link that the command has printed, or the password."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bullrush.dashboard.answer import Answer
from bullrush.dashboard.origin import demand_same_origin
from bullrush.dashboard.refusal import RefusalError
from bullrush.dashboard.rendering import page, refusal_page

#: Who is named on the pages: there is one user.
_NAME: Final = "local"
#: Older logins than these are forgotten.
_MOST_LOGINS: Final = 100
#: Seconds between two wrong passwords, from wherever they come.
_PAUSE: Final = 0.5
_LONGEST: Final = 10_000


class Gate:
    """Stands before the dashboard: checks the host, and knows who has logged in."""

    def __init__(self, port: int, *, password: str | None = None, hosts: Iterable[str] = ()) -> None:
        """Close the gate.

        Args:
            port: the port of the server. Cookies do not know ports, so it is in the name of ours.
            password: what opens it; None: the link that is used first.
            hosts: names by which browsers may come, beside this machine's and addresses.
        """
        self._cookie = f"bullrush-{port}"
        self._password = password
        self._hosts = frozenset(host.lower() for host in hosts)
        self._logins: OrderedDict[str, None] = OrderedDict()
        self._guess = asyncio.Lock()
        #: The token of the link, which opens the gate once; None after that, and with a password.
        self.token: str | None = secrets.token_urlsafe(24) if password is None else None
        #: What stands behind the gate.
        self.app: ASGIApp | None = None

    def authenticate(self, request: Request) -> str | None:
        """Return the name of who has logged in."""
        return _NAME if request.cookies.get(self._cookie) in self._logins else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what is about logging in, and hand on what may pass."""
        if scope["type"] == "http":
            request = Request(scope, receive)
            response = await self._respond(request)
            if response is not None:
                await response(scope, receive, send)
                return
        assert self.app is not None
        await self.app(scope, receive, send)

    async def _respond(self, request: Request) -> Response | None:
        """Return the response; None for what may pass."""
        if not self._is_known(request.headers.get("host", "")):
            return _refused(request, 400, "This server is not known by that name: --allow-host NAME allows one.")
        if request.url.path == "/login":
            return await self._log_in(request)
        if request.url.path.startswith("/static/") or self.authenticate(request) is not None:
            return None
        return self._closed(request, "", 401)

    def _is_known(self, host: str) -> bool:
        """Tell whether a browser comes by a name of ours.

        A name of somebody else may lead to this machine, so that a page of theirs reads what we answer. An address may
        not: a browser sends what it was told to open.
        """
        name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name.lower() == "localhost" or name.lower() in self._hosts
        return True

    async def _log_in(self, request: Request) -> Response:
        if request.method.lower() == "post" and self._password is not None:
            return await self._with_password(request, self._password)
        given = request.query_params.get("token", "")
        if request.method.lower() == "get" and self.token is not None and _equal(given, self.token):
            self.token = None
            return self._opened()
        if self.authenticate(request) is not None:
            return RedirectResponse("/", 303)
        said = "This link was used before, or is not the last one: start the command again for a new one."
        return self._closed(request, said if given else "", 401)

    async def _with_password(self, request: Request, password: str) -> Response:
        try:
            demand_same_origin(request, None)
        except RefusalError as error:
            return _refused(request, error.status, error.sentence)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _LONGEST:
                return _refused(request, 413, "The form is too long.")
        given = parse_qs(body.decode("utf-8", "replace")).get("password", [""])[0]
        async with self._guess:
            if _equal(given, password):
                return self._opened()
            await asyncio.sleep(_PAUSE)
        return self._closed(request, "That is not the password.", 403)

    def _opened(self) -> Response:
        login = secrets.token_urlsafe(24)
        self._logins[login] = None
        if len(self._logins) > _MOST_LOGINS:
            self._logins.popitem(last=False)
        response = RedirectResponse("/", 303, headers={"Cache-Control": "no-store"})
        response.set_cookie(self._cookie, login, httponly=True, samesite="lax")
        return response

    def _closed(self, request: Request, said: str, status: int) -> Response:
        by_link = "Open the link that 'bullrush dashboard' has printed."
        content = {"error": said or ("Type the password." if self._password is not None else by_link)}
        answer = Answer("login.html", "Log in", content, status)
        return page(request, answer, with_password=self._password is not None)


def _refused(request: Request, status: int, sentence: str) -> Response:
    return page(request, refusal_page(RefusalError(status, sentence)))


def _equal(given: str, wanted: str) -> bool:
    """Compare in a time that says nothing about where they differ."""
    return secrets.compare_digest(given.encode(), wanted.encode())
