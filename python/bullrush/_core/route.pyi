"""Targets of jobs and profiles of workers."""

from collections.abc import Sequence
from typing import Protocol, final

class Criteria(Protocol):
    """The attributes of `bullrush.routing.target.Criteria`, which are read by name."""

@final
class CoreTarget:
    """What a job needs. Values are sorted, each stands once; a mode that makes no difference is left out."""

    def __new__(
        cls, criteria: Criteria, *, fallback_after: int | None = None, fallback: CoreTarget | None = None
    ) -> CoreTarget:
        """``fallback_after``: ms; 0 removes the route's fallback, None leaves it. ``fallback``: None is the base queue.

        Raises:
            InvalidOptionError: a value is no token, or there are too many.
        """
    @staticmethod
    def parse(slug: str, json: str) -> CoreTarget:
        """Return a route of the registry.

        Raises:
            InvalidOptionError: another version wrote it, or something else.
        """
    @property
    def slug(self) -> str:
        """The part of the route's name after ``~``; "" for the empty target."""
    @property
    def canonical(self) -> str:
        """Sorted JSON without the fallback: equal targets have equal texts."""
    @property
    def tier(self) -> str:
        """``server``, ``specific`` or ``base``."""
    @property
    def criteria(self) -> int: ...
    @property
    def fallback_after(self) -> int | None: ...
    @property
    def fallback(self) -> CoreTarget | None:
        """The empty target is the base queue; None without a fallback."""
    def matches(self, profile: CoreProfile) -> bool: ...
    def implies(self, other: CoreTarget) -> bool:
        """Return whether every worker that matches this target matches the other one as well."""
    def queue_of(self, base: str) -> str:
        """Return the name of the queue for jobs with this target."""

@final
class CoreProfile:
    """What a worker has."""

    def __new__(
        cls,
        server: str | None = None,
        stack: Sequence[str] = ...,
        capabilities: Sequence[str] = ...,
        region: Sequence[str] = ...,
    ) -> CoreProfile:
        """Raise `InvalidOptionError` if a value is no token."""
    @property
    def canonical(self) -> str:
        """Sorted JSON."""
    def self_routes(self) -> list[CoreTarget]:
        """Return the targets with one criterion that it matches, the server first."""
