"""Who is logged in to Django, for the dashboard beside it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol


class Asked(Protocol):
    """A request of another framework, such as Starlette: it stands outside of Django's middleware."""

    @property
    def cookies(self) -> Mapping[str, str]:
        """The cookies by name."""
        ...


async def authenticate(request: Asked) -> str | None:
    """Return the name of the user who is logged in to Django, for `bullrush.dashboard.app`.

    It reads the session of Django's cookie, and changes nothing: it renews no session and ends none.

    Args:
        request: the request; its cookies are read.

    Returns:
        What the user logs in with (`get_username`); None if nobody is logged in, or if the user is not active.
    """
    from asgiref.sync import sync_to_async
    from django.conf import settings

    key = request.cookies.get(settings.SESSION_COOKIE_NAME)
    # The database, the cache or the files of sessions may be read only outside of an event loop.
    return None if key is None else await sync_to_async(_user_of)(key)


def _user_of(key: str) -> str | None:
    from django.conf import settings
    from django.contrib.auth import get_user
    from django.db import close_old_connections
    from django.http import HttpRequest

    # No request of Django has begun or ends here, which would do it.
    close_old_connections()
    try:
        request = HttpRequest()
        request.session = _Session(import_module(settings.SESSION_ENGINE).SessionStore(key).load())
        user = get_user(request)
        return user.get_username() if user.is_authenticated else None
    finally:
        close_old_connections()


class _Session(dict[str, Any]):
    """What a session holds. Django would write a session anew whose user it does not trust any more."""

    def flush(self) -> None:
        """Leave the session as it is."""

    def cycle_key(self) -> None:
        """Leave the session its key, which is in the cookie."""
