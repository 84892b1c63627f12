"""Hides secrets in what a history keeps of a job: its name and the reason of its failure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from bullrush.errors import InvalidOptionError
from bullrush.masking import masked_in

_HIDDEN: Final = "***"


class Masks:
    """Texts that are hidden before anything is written."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Take regular expressions.

        Raises:
            InvalidOptionError: one is none.
        """
        try:
            self._patterns = [re.compile(pattern) for pattern in patterns]
        except re.error as error:
            raise InvalidOptionError(f"mask has a regular expression that cannot be read: {error}") from None

    def hide(self, text: str) -> str:
        """Return a text without what the patterns match, and without passwords of URLs."""
        text = masked_in(text)
        for pattern in self._patterns:
            text = pattern.sub(_HIDDEN, text)
        return text
