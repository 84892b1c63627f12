"""URLs without their passwords."""

from __future__ import annotations

import re
from typing import Final

from bullrush._core import mask_url

#: A URL in a text behind its scheme, and the end of a scheme. One expression for both would try each letter of a long
#: text as the first one of a scheme.
_ANY: Final = re.compile(r"(?<=[a-z+])://[^\s'\"`]*", re.IGNORECASE)
_SCHEME: Final = re.compile(r"[a-z][a-z+]*\Z", re.IGNORECASE)
_LONGEST_SCHEME: Final = 30


def masked(url: str) -> str:
    """Return the URL for logs and ``repr``: without its password."""
    return mask_url(url)


def masked_in(text: str) -> str:
    """Return a text in which every URL is masked: one that stands in the wrong place may be quoted by an error."""
    parts, at = [], 0
    for found in _ANY.finditer(text):
        scheme = _SCHEME.search(text, max(at, found.start() - _LONGEST_SCHEME), found.start())
        begin = found.start() if scheme is None else scheme.start()
        parts += [text[at:begin], mask_url(text[begin : found.end()])]
        at = found.end()
    return "".join([*parts, text[at:]])
