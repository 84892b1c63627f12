"""What a button has done, shown once on the page to which the browser is led back."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from bullrush.dashboard.addresses import Addresses
from bullrush.dashboard.answer import Done

#: The field of the query string that names a notice.
FIELD: Final = "done"
#: Older notices than these are forgotten: who reloads so late has read them.
_MOST: Final = 1_000


class Notices:
    """What was done lately, each for who has done it.

    The address names a notice and does not hold its text, so that nobody can send a link that claims something.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[str, Done]] = OrderedDict()

    def keep(self, viewer: str, done: Done) -> str:
        """Remember what somebody has done, and return its name."""
        name = secrets.token_urlsafe(9)
        self._kept[name] = (viewer, done)
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return name

    def of(self, request: Request, viewer: str) -> Done | None:
        """Return what the address of a page names, if this viewer has done it."""
        whose, done = self._kept.get(request.query_params.get(FIELD, ""), ("", None))
        return done if whose == viewer else None


def way_back(request: Request, done: Done, notice: str) -> str:
    """Return the address of the page that the form came from, with a notice; that of the queue if it is known no more.

    A page that says itself what was done needs no notice.

    Args:
        request: the request. Browsers name the page; only its path below ours is taken, so that it leads nowhere else.
        done: what was done.
        notice: the name of the notice.
    """
    addresses = Addresses(request.scope.get("root_path", ""))
    if done.page:
        return addresses.of("q", done.queue, *done.page)
    if done.job is not None:
        return addresses.of_job(done.queue, done.job, **{FIELD: notice})
    page = urlsplit(request.headers.get("referer", ""))
    is_of_all = page.path in {addresses.of("failures"), addresses.of("schedulers")}
    if done.is_gone or not (is_of_all or page.path.startswith(addresses.of("q", ""))):
        return addresses.of("q", done.queue, **{FIELD: notice})
    asked = {name: value for name, value in parse_qsl(page.query) if name != FIELD}
    return addresses.with_query(page.path, {**asked, FIELD: notice})
