"""The calls about a job's children and its parent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from bullrush.base.operation import operation, reply
from bullrush.errors import MalformedJobError
from bullrush.job.fields import JobFields
from bullrush.values import checks
from bullrush.values.checks import Check
from bullrush.values.encoding import JSON, decode

if TYPE_CHECKING:
    from bullrush._core import CoreQueue

_PAGE: Final = 20
_SCANNED: Final = 100
_CURSOR: Final[dict[str, Check]] = {"cursor": checks.at_least(0), "count": checks.at_least(1)}


class Cursor(TypedDict, total=False):
    """A position in the children (0, the start, by default), and about how many to return (20 by default)."""

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

    def _key(self, part: str) -> str:
        return f"{self.queue_qualified_name}:{self.id}:{part}"

    async def _command(self, command: str, part: str) -> Any:
        return (await reply(self._source.core.commands([[command, self._key(part)]])))[0]

    @operation
    async def get_children_values(self) -> dict[str, JSON]:
        """Return the results of the completed children, by the Redis key of each child.

        Raises:
            MalformedJobError: a result is not JSON.
        """
        return self._values(await self._command("HGETALL", "processed"))

    @operation
    async def get_ignored_children_failures(self) -> dict[str, str]:
        """Return why children with ``ignore_dependency_on_failure`` failed, by the Redis key of each child."""
        return _texts(await self._command("HGETALL", "failed"))

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
        asked = {"processed": processed, "ignored": ignored, "failed": failed, "unprocessed": unprocessed}
        pages = {
            kind: {"cursor": 0, "count": _PAGE, **checks.members(kind, page, _CURSOR)}
            for kind, page in asked.items()
            if page is not None
        }
        if not pages:
            return await self._all_dependencies()
        replies = await reply(self._source.core.commands([self._page(kind, **page) for kind, page in pages.items()]))
        found: dict[str, Any] = {}
        for (kind, page), answer in zip(pages.items(), replies, strict=True):
            if kind == "failed":
                # The reply has one member more than asked for if there is another page.
                members, cursor = answer[: page["count"]], page["cursor"] + page["count"]
                cursor = cursor if len(answer) > page["count"] else 0
            else:
                cursor, members = int(answer[0]), answer[1]
            found[kind] = self._read(kind, members)
            found[f"next_{kind}_cursor"] = cursor
        return found  # type: ignore[return-value]

    def _page(self, kind: str, cursor: int, count: int) -> list[int | str]:
        if kind == "failed":
            return ["ZRANGE", self._key("unsuccessful"), cursor, cursor + count]
        scan, part = {
            "processed": ("HSCAN", "processed"),
            "ignored": ("HSCAN", "failed"),
            "unprocessed": ("SSCAN", "dependencies"),
        }[kind]
        return [scan, self._key(part), cursor, "COUNT", count]

    async def _all_dependencies(self) -> Dependencies:
        commands: list[list[int | str]] = [
            ["HGETALL", self._key("processed")],
            ["SMEMBERS", self._key("dependencies")],
            ["HGETALL", self._key("failed")],
            ["ZRANGE", self._key("unsuccessful"), 0, -1],
        ]
        kinds = ("processed", "unprocessed", "ignored", "failed")
        replies = await reply(self._source.core.commands(commands))
        return {kind: self._read(kind, members) for kind, members in zip(kinds, replies, strict=True)}  # type: ignore[return-value]

    def _read(self, kind: str, members: list[bytes]) -> dict[str, JSON] | list[str]:
        if kind == "processed":
            return self._values(members)
        return _texts(members) if kind == "ignored" else [_text(member) for member in members]

    def _values(self, flat: list[bytes]) -> dict[str, JSON]:
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return {_text(key): decode(value, f"result of child {_text(key)}", self.id) for key, value in pairs}

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
        commands: dict[str, list[str]] = {
            "processed": ["HLEN", self._key("processed")],
            "unprocessed": ["SCARD", self._key("dependencies")],
            "ignored": ["HLEN", self._key("failed")],
            "failed": ["ZCARD", self._key("unsuccessful")],
        }
        flags = (processed, unprocessed, ignored, failed)
        kinds = [kind for kind, asked in zip(commands, flags, strict=True) if asked or not any(flags)]
        replies = await reply(self._source.core.commands([commands[kind] for kind in kinds]))
        return dict(zip(kinds, replies, strict=True))  # type: ignore[return-value]

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
    core: CoreQueue, job_key: str, type: Literal["processed", "pending"], start: int, end: int
) -> DependencyPage:
    """Return a range of the children; see `Queue.get_dependencies`."""
    key = f"{job_key}:{'processed' if type == 'processed' else 'dependencies'}"
    scan, size = ("HSCAN", "HLEN") if type == "processed" else ("SSCAN", "SCARD")
    # A scan may return a child twice.
    found: dict[str, bytes | None] = {}
    cursor = b"0"
    while True:
        ((cursor, members),) = await reply(core.commands([[scan, key, cursor, "COUNT", _SCANNED]]))
        keys, values = (members[::2], members[1::2]) if scan == "HSCAN" else (members, [None] * len(members))
        found.update(zip(map(_text, keys), values, strict=True))
        if cursor == b"0" or 0 <= end < len(found):
            break
    page = list(found.items())[start : None if end == -1 else end + 1]
    total, *hashes = await reply(core.commands([[size, key], *(["HGETALL", child] for child, _ in page)]))
    return {"items": [_item(*pair) for pair in page], "jobs": [_texts(flat) for flat in hashes], "total": total}


def _item(child: str, value: bytes | None) -> DependencyItem:
    if value is None:
        return {"id": child}
    try:
        return {"id": child, "v": decode(value, "returnvalue", child)}
    except MalformedJobError as error:
        return {"id": child, "err": str(error)}


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _texts(flat: list[bytes]) -> dict[str, str]:
    return {_text(key): _text(value) for key, value in zip(flat[::2], flat[1::2], strict=True)}
