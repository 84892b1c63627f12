"""Text of jobs on a terminal: whoever may add a job must not command the terminal of whoever looks at it."""

from __future__ import annotations

import re
from typing import Final

#: Control characters but for tab and line feed, those that change the direction of writing, and halves of characters.
_HIDDEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS: Final = re.compile("[\t\n\u2028\u2029]")


def visible(text: str, *, line: bool = False) -> str:
    r"""Return a text with all that a terminal would obey written as in Python's strings, such as ``\x1b``.

    Args:
        text: the text.
        line: also tabs and the ends of lines.
    """
    text = _HIDDEN.sub(_escaped, text)
    return _BREAKS.sub(_escaped, text) if line else text


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
