"""A job and its children: what became of them, and parting with them."""

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
    """Where to go on, and about how many children to return: from the start, and 20 by default."""

    cursor: int
    count: int


class Dependencies(TypedDict, total=False):
    """A job's children by what became of them, by the full key of each.

    Attributes:
        processed: results of those that completed.
        unprocessed: those that the job still waits for.
        ignored: why those failed whose failure does not matter.
        failed: those whose failure fails the job.
        next_processed_cursor: where to go on with them, 0 at the end; and so for the others.
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
    """How many children of a job there are by what became of them."""

    processed: int
    unprocessed: int
    ignored: int
    failed: int


class DependencyItem(TypedDict, total=False):
    """A child's key, and if it completed, its result ``v``, or ``err`` for a result that is not JSON."""

    id: str
    v: JSON
    err: str


class DependencyPage(TypedDict):
    """Some children of a job, the fields of each as Redis holds them, and how many children there are in all."""

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
        """Return the results of the children that completed, by each child's key."""
        return self._values(await self._command("HGETALL", "processed"))

    @operation
    async def get_ignored_children_failures(self) -> dict[str, str]:
        """Return why children failed whose failure does not matter, by each child's key."""
        return _texts(await self._command("HGETALL", "failed"))

    @operation
    async def get_failed_children_values(self) -> dict[str, str]:
        """Return the same as `get_ignored_children_failures`; the older name."""
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
        """Return the job's children by what became of them: all of them, or a page of each kind asked for.

        Args:
            processed: ``{"cursor": 0, "count": 20}``; ``{}`` is the first page. A page may be larger than asked for.
            unprocessed: the same for those the job waits for.
            ignored: for failures that do not matter.
            failed: for failures that fail the job.

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
                # One more than asked for tells whether there is another page.
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
        """Return how many children there are by what became of them: of each kind, or only of those asked for."""
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
        """Part this job from its parent, which no longer waits for it and goes on if it was the last one.

        Returns:
            False if the parent did not wait for it.

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
        """Remove the children that the job still waits for and all that those wait for, in whichever queues they are.

        HandlerProcesses that a worker has and children that have failed stay.
        """
        await reply(self._source.core.remove_unprocessed_children(self.id))


async def dependency_page(
    core: CoreQueue, job_key: str, type: Literal["processed", "pending"], start: int, end: int
) -> DependencyPage:
    """Return the children at some positions; see `Queue.get_dependencies`."""
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
