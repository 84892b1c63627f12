"""The addresses of pages: how they are written, and how they are read.

Names and ids may hold any character, also ``/``, ``?``, ``#`` and ``%``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

#: A browser takes such a part of a path away, also if it is escaped.
_DOTS: Final = frozenset({".", ".."})


def parts_of(scope: Mapping[str, Any]) -> list[str]:
    """Return the parts of the path below the place where the app is mounted, each decoded.

    A server of ASGI decodes the whole path, after which a slash in a name looks like one between names. So the raw path
    is read, unless a proxy or a framework has rewritten the decoded one.
    """
    path: str = scope["path"]
    root: str = scope.get("root_path", "").rstrip("/")
    raw = scope.get("raw_path")
    parts = [] if raw is None else [unquote(part) for part in raw.partition(b"?")[0].decode("latin-1").split("/")]
    if "/".join(parts) != path:
        parts = path.split("/")
    above = root.count("/")
    if root and "/".join(parts[: above + 1]) == root:
        parts = parts[above:]
    return parts[1:]


class Addresses:
    """Writes addresses below the place where the app is mounted."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._root = quote(root.rstrip("/"))

    def of(self, *parts: str, **query: object) -> str:
        """Return the address of a page; what is None in the query is left out."""
        asked = {name: value for name, value in query.items() if value is not None}
        path = "/".join([self._root, *(quote(part, safe="") for part in parts)]) if parts else f"{self._root}/"
        return self.with_query(path, asked)

    @staticmethod
    def with_query(path: str, query: Mapping[str, object]) -> str:
        """Return a path with a query string."""
        return path + (f"?{urlencode(query)}" if query else "")

    def of_job(self, queue: str, job_id: str, page: str = "jobs", **query: object) -> str:
        """Return the address of a job, or of another page about it."""
        if job_id in _DOTS:
            return self.of("q", queue, page, "", id=job_id, **query)
        return self.of("q", queue, page, job_id, **query)
