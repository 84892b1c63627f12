"""The calls about a job's children and its parent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from bullrush.base.operation import operation, reply
from bullrush.errors import MalformedJobError
from bullrush.job.fields import JobFields
from bullrush.values import checks
from bullrush.values.checks import Check
from bullrush.values.encoding import JSON, decode

if TYPE_CHECKING:
    from bullrush._core import CoreQueue
    from bullrush._core.reads import Child, ChildKind

_KINDS: Final[tuple[ChildKind, ...]] = ("processed", "unprocessed", "ignored", "failed")
_PAGE: Final = 20
_CURSOR: Final[dict[str, Check]] = {"cursor": checks.at_least(0), "count": checks.at_least(1)}


class Cursor(TypedDict, total=False):
    """A position in the children, and about how many to return.

    Attributes:
        cursor: the position: 0, the start, by default, or the one that the last call returned.
        count: about how many to return: 20 by default.
    """

    cursor: int
    count: int


class Dependencies(TypedDict, total=False):
    """The children of a job by state. Children are named by their Redis keys, such as ``bull:video:7``.

    Attributes:
        processed: the results of completed children, by key.
        unprocessed: the keys of unfinished children.
        ignored: the failure reasons of children with ``ignore_dependency_on_failure``, by key.
        failed: the keys of children whose failure fails the job.
        next_processed_cursor: the cursor of the next page, 0 at the end. The other three are the same.
    """

    processed: dict[str, JSON]
    next_processed_cursor: int
    unprocessed: list[str]
    next_unprocessed_cursor: int
    ignored: dict[str, str]
    next_ignored_cursor: int
    failed: list[str]
    next_failed_cursor: int


class DependenciesCount(TypedDict, total=False):
    """How many children of a job there are in each state; see `Dependencies`."""

    processed: int
    unprocessed: int
    ignored: int
    failed: int


class DependencyItem(TypedDict, total=False):
    """A child's key; for a completed child also its result ``v``, or ``err`` if the result is not JSON."""

    id: str
    v: JSON
    err: str


class DependencyPage(TypedDict):
    """Some children of a job, the raw fields of each, and how many children there are in all."""

    items: list[DependencyItem]
    jobs: list[dict[str, str]]
    total: int


class JobDependencies(JobFields):
    """The calls about a job's children and its parent."""

    __slots__ = ()

    @operation
    async def get_children_values(self) -> dict[str, JSON]:
        """Return the results of the completed children, by the Redis key of each child.

        Raises:
            MalformedJobError: a result is not JSON.
        """
        (children,) = await reply(self._source.core.children(self.id, ["processed"]))
        return self._values(children)

    @operation
    async def get_ignored_children_failures(self) -> dict[str, str]:
        """Return why children with ``ignore_dependency_on_failure`` failed, by the Redis key of each child."""
        (children,) = await reply(self._source.core.children(self.id, ["ignored"]))
        return _texts(children)

    @operation
    async def get_dependencies(
        self,
        *,
        processed: Cursor | None = None,
        unprocessed: Cursor | None = None,
        ignored: Cursor | None = None,
        failed: Cursor | None = None,
    ) -> Dependencies:
        """Return the job's children by state: all of them, or a page of each state that is given.

        Args:
            processed: the page of completed children: ``{"cursor": 0, "count": 20}``, or ``{}`` for the first one. A
                page may be larger than ``count``.
            unprocessed: the page of unfinished children.
            ignored: the page of failed children that are ignored.
            failed: the page of failed children that fail the job.

        Raises:
            MalformedJobError: a result is not JSON.
        """
        asked = (processed, unprocessed, ignored, failed)
        pages = []
        for kind, page in zip(_KINDS, asked, strict=True):
            if page is not None:
                cursor = {"cursor": 0, "count": _PAGE, **checks.members(kind, page, _CURSOR)}
                pages.append((kind, cursor["cursor"], cursor["count"]))
        found: dict[str, Any] = {}
        if not pages:
            kinds = await reply(self._source.core.children(self.id, _KINDS))
            found = {kind: self._of_kind(kind, children) for kind, children in zip(_KINDS, kinds, strict=True)}
        else:
            replies = await reply(self._source.core.pages_of_children(self.id, pages))
            for (kind, _, _), (following, children) in zip(pages, replies, strict=True):
                found |= {kind: self._of_kind(kind, children), f"next_{kind}_cursor": following}
        return found  # type: ignore[return-value]

    def _of_kind(self, kind: ChildKind, children: Sequence[Child]) -> dict[str, JSON] | list[str]:
        if kind == "processed":
            return self._values(children)
        return _texts(children) if kind == "ignored" else [key for key, _ in children]

    def _values(self, children: Sequence[Child]) -> dict[str, JSON]:
        return {key: decode(value or b"", f"result of child {key}", self.id) for key, value in children}

    @operation
    async def get_dependencies_count(
        self, *, processed: bool = False, unprocessed: bool = False, ignored: bool = False, failed: bool = False
    ) -> DependenciesCount:
        """Return how many children there are in each state: in all states, or in those that are set to True.

        Args:
            processed: count those that completed.
            unprocessed: count those that have not finished.
            ignored: count those that failed and whose failure is ignored.
            failed: count those that failed for good.
        """
        flags = (processed, unprocessed, ignored, failed)
        kinds = [kind for kind, asked in zip(_KINDS, flags, strict=True) if asked or not any(flags)]
        counts = await reply(self._source.core.count_children(self.id, kinds))
        return dict(zip(kinds, counts, strict=True))  # type: ignore[return-value]

    @operation
    async def remove_child_dependency(self) -> bool:
        """Separate this job from its parent.

        The parent no longer waits for it, and can run if this was its last unfinished child.

        Returns:
            False if the parent did not wait for this job.

        Raises:
            JobNotFoundError: the job is gone.
            ParentNotFoundError: the job has no parent, or the parent is gone.
        """
        removed = await reply(self._source.core.remove_child_dependency(self.id, self.parent_key or "undefined"))
        if removed:
            self._change(parentKey=None, parent=None)
        return removed

    @operation
    async def remove_unprocessed_children(self) -> None:
        """Remove the unfinished children of the job and their descendants, in all queues.

        Children that a worker runs and children that failed stay.
        """
        await reply(self._source.core.remove_unprocessed_children(self.id))


async def dependency_page(
    core: CoreQueue, parent_id: str, type: Literal["processed", "pending"], start: int, end: int
) -> DependencyPage:
    """Return a range of the children; see `Queue.get_dependencies`."""
    kind: ChildKind = "processed" if type == "processed" else "unprocessed"
    children, hashes, total = await reply(core.range_of_children(parent_id, kind, start, end))
    return {
        "items": [_item(*child) for child in children],
        "jobs": [_texts(fields) for fields in hashes],
        "total": total,
    }


def _item(child: str, value: bytes | None) -> DependencyItem:
    if value is None:
        return {"id": child}
    try:
        return {"id": child, "v": decode(value, "returnvalue", child)}
    except MalformedJobError as error:
        return {"id": child, "err": str(error)}


def _texts(pairs: Iterable[tuple[str, bytes | None]]) -> dict[str, str]:
    return {key: (value or b"").decode(errors="replace") for key, value in pairs}
