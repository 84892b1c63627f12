"""Values that nobody sees: those of fields that the owner of the dashboard has named."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import orjson

from bullrush.extending import JSON

HIDDEN: Final = "•••"
#: Shorter secrets are hidden in texts only where they stand as a word of their own.
_SHORT: Final = 4


class Masks:
    """The fields whose values are hidden, at any depth, whatever the case of their names."""

    def __init__(self, fields: Iterable[str]) -> None:
        self._fields = frozenset(field.lower() for field in fields)

    def veil(self, *values: JSON) -> Veil:
        """Return what hides the secrets of a job.

        Args:
            values: its data and results: what has fields.
        """
        secrets: set[str] = set()
        for value in values if self._fields else ():
            self._collect(value, secrets)
        return Veil(self._fields, secrets)

    def _collect(self, value: JSON, secrets: set[str], *, inside: bool = False) -> None:
        if isinstance(value, dict):
            for name, below in value.items():
                self._collect(below, secrets, inside=inside or name.lower() in self._fields)
        elif isinstance(value, list):
            for below in value:
                self._collect(below, secrets, inside=inside)
        elif inside and value not in (None, "", True, False):
            # Errors quote values as Python and JSON write them, too.
            secrets |= {str(value), repr(value).strip("'\""), orjson.dumps(value).decode().strip('"')}


class Veil:
    """Hides the secrets of one job: in its values, and in the texts that quote them."""

    def __init__(self, fields: frozenset[str], secrets: set[str]) -> None:
        self._fields = fields
        ways = [
            re.escape(secret) if len(secret) >= _SHORT else rf"(?<!\w){re.escape(secret)}(?!\w)"
            for secret in sorted(secrets, key=len, reverse=True)
        ]
        self._secrets = re.compile("|".join(ways)) if ways else None

    @property
    def needed(self) -> bool:
        """Whether some field is hidden."""
        return bool(self._fields)

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        return text if self._secrets is None else self._secrets.sub(HIDDEN, text)

    def value(self, value: JSON) -> JSON:
        """Return a value in which hidden fields have no values, and texts no secrets."""
        if not self.needed:
            return value
        if isinstance(value, dict):
            return {
                self.text(name): HIDDEN if name.lower() in self._fields else self.value(below)
                for name, below in value.items()
            }
        if isinstance(value, list):
            return [self.value(below) for below in value]
        if isinstance(value, str):
            return self.text(value)
        return value if self._secrets is None or self.text(str(value)) == str(value) else HIDDEN
