"""URLs without their passwords."""

from __future__ import annotations

import re
from typing import Final

from bullrush._core import mask_url

#: A URL in a text.
_ANY: Final = re.compile(r"[a-z][a-z+]*://[^\s'\"`]*", re.IGNORECASE)


def masked(url: str) -> str:
    """Return the URL for logs and ``repr``: without its password."""
    return mask_url(url)


def masked_in(text: str) -> str:
    """Return a text in which every URL is masked: one that stands in the wrong place may be quoted by an error."""
    return _ANY.sub(lambda found: mask_url(found[0]), text)
