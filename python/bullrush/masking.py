"""URLs without their passwords."""

from __future__ import annotations

import re
from typing import Final

_HOST: Final = r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\])?(?::\d+)?"
#: The form of a URL of which everything but the password may be shown. Any other URL is hidden completely.
_PLAIN: Final = re.compile(
    rf"""(?P<scheme>[a-z]+(?:\+(?:(?P<sentinel>sentinel)|cluster))?://)
        (?:(?P<user>[^\s:/?\#@]*)(?P<password>:[^\s/?\#]*)?@)?
        (?P<place>{_HOST}(?:,{_HOST})*
            (?(sentinel)/[\w.-]+(?:/\d*)?|(?:/\d*|(?<=://)/[^\s?\#@]+)?))
        (?:\?(?P<query>[^\s\#@]*))?""",
    re.VERBOSE,
)
#: A URL in a text.
_ANY: Final = re.compile(r"[a-z][a-z+]*://[^\s'\"`]*", re.IGNORECASE)
#: Query parameters that are no secrets.
_SHOWN: Final = re.compile(r"db=\d{1,5}|protocol=(?:resp)?[23]|ssl_check_hostname=(?:true|false)")


def masked(url: str) -> str:
    """Return the URL for logs and ``repr``: without its password."""
    plain = _PLAIN.fullmatch(url)
    if plain is None:
        scheme, found, _ = url.partition("://")
        return f"{scheme}://***" if found and scheme.isascii() and scheme.replace("+", "").isalpha() else "***"
    scheme, user, password, place, query = plain.group("scheme", "user", "password", "place", "query")
    # Without a password, the user part may be a password in the wrong place.
    login = "" if user is None else "***@" if password is None else f"{user}:***@"
    return scheme + login + place + ("" if query is None else "?" + "&".join(map(_parameter, query.split("&"))))


def masked_in(text: str) -> str:
    """Return a text in which every URL is masked: one that stands in the wrong place may be quoted by an error."""
    return _ANY.sub(lambda found: masked(found[0]), text)


def _parameter(text: str) -> str:
    return text if _SHOWN.fullmatch(text) else "***"
