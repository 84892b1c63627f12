"""Text of jobs on a terminal: whoever may add a job must not command the terminal of whoever looks at it."""

from __future__ import annotations

import re
from typing import Final

#: Control characters but for tab and line feed, other ends of lines, what turns the direction of writing, and halves of
#: characters.
_HIDDEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS: Final = re.compile("[\t\n]")
#: The same in JSON, which escapes all before the space by itself. Only its strings have such characters.
_HIDDEN_IN_JSON: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_BEYOND_ASCII: Final = re.compile("[^\x00-\x7e]")


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


def visible_json(text: str, encoding: str | None) -> str:
    r"""Return JSON that means the same, with all that a terminal would obey, or cannot show, as ``\\u`` escapes.

    Args:
        text: the JSON.
        encoding: how it will be written; None is any.
    """
    hidden = _HIDDEN_IN_JSON
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        hidden = _BEYOND_ASCII
    return hidden.sub(_escaped_in_json, text)


def _escaped_in_json(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
