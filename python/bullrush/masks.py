"""What nobody sees of a job: the values of fields, and parts of texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import orjson

from bullrush.errors import InvalidOptionError
from bullrush.masking import masked_in
from bullrush.values.encoding import JSON

#: What stands in the place of hidden text, as in URLs.
HIDDEN: Final = "***"
#: Shorter secrets are hidden in texts only where they stand as a word of their own.
_SHORT: Final = 4
#: A value behind the name of its field: quoted, also within another quoted text; an object or a list, whose end only a
#: parser would find; or a word.
_VALUE: Final = "|".join(
    (
        r'\\+"(?:(?!\\+").)*\\+"',
        r'"(?:[^"\\]|\\.)*"',
        r"'(?:[^'\\]|\\.)*'",
        r"[{\[].*",
        r"[^\s,;&)}\]]+",
    )
)


class Masks:
    """Fields whose values are hidden, at any depth and whatever the case of their names, and texts that are."""

    def __init__(self, fields: Iterable[str] = (), texts: Iterable[str] = ()) -> None:
        """Take names of fields and regular expressions.

        Args:
            fields: names of fields.
            texts: what these match in texts is hidden.

        Raises:
            InvalidOptionError: one of the expressions is none.
        """
        self.fields: frozenset[str] = frozenset(field.lower() for field in fields)
        try:
            self._texts: list[re.Pattern[str]] = [re.compile(text) for text in texts]
        except re.error as error:
            raise InvalidOptionError(f"mask_text has a regular expression that cannot be read: {error}") from None
        names = "|".join(re.escape(field) for field in sorted(self.fields, key=len, reverse=True))
        self._named: re.Pattern[str] | None = (
            re.compile(rf"""(?<!\w)((?:{names})\\*["']?\s*[:=]\s*)(?:{_VALUE})""", re.IGNORECASE | re.DOTALL)
            if names
            else None
        )

    @property
    def needed(self) -> bool:
        """Whether something is hidden besides passwords in URLs."""
        return self._named is not None or bool(self._texts)

    def hide(self, text: str) -> str:
        """Return a text without passwords of URLs, values behind names of fields, and what the expressions match."""
        text = masked_in(text)
        if self._named is not None:
            text = self._named.sub(rf"\1{HIDDEN}", text)
        for pattern in self._texts:
            text = pattern.sub(HIDDEN, text)
        return text

    def veil(self, *values: JSON) -> Veil:
        """Return what hides the secrets of a job.

        Args:
            values: its data and results: what has fields.
        """
        secrets: set[str] = set()
        for value in values if self.fields else ():
            self._collect(value, secrets)
        return Veil(self, secrets)

    def _collect(self, value: JSON, secrets: set[str], *, inside: bool = False) -> None:
        if isinstance(value, dict):
            for name, below in value.items():
                self._collect(below, secrets, inside=inside or name.lower() in self.fields)
        elif isinstance(value, list):
            for below in value:
                self._collect(below, secrets, inside=inside)
        elif inside and value not in (None, "", True, False):
            # Errors quote values as Python and JSON write them, too.
            secrets |= {str(value), repr(value).strip("'\""), orjson.dumps(value).decode().strip('"')}


class Veil:
    """Hides the secrets of one job: in its values, and in the texts that quote them."""

    def __init__(self, masks: Masks, secrets: set[str]) -> None:
        """Take the masks, and the values of their fields."""
        self._masks = masks
        ways = [
            re.escape(secret) if len(secret) >= _SHORT else rf"(?<!\w){re.escape(secret)}(?!\w)"
            for secret in sorted(secrets, key=len, reverse=True)
        ]
        self._secrets: re.Pattern[str] | None = re.compile("|".join(ways)) if ways else None

    @property
    def needed(self) -> bool:
        """Whether something is hidden besides passwords in URLs."""
        return self._masks.needed

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        return self._masks.hide(text if self._secrets is None else self._secrets.sub(HIDDEN, text))

    def value(self, value: JSON) -> JSON:
        """Return a value in which hidden fields have no values, and texts no secrets."""
        if not self.needed:
            return value
        if isinstance(value, dict):
            return {
                self.text(name): HIDDEN if name.lower() in self._masks.fields else self.value(below)
                for name, below in value.items()
            }
        if isinstance(value, list):
            return [self.value(below) for below in value]
        if isinstance(value, str):
            return self.text(value)
        return value if self.text(str(value)) == str(value) else HIDDEN
