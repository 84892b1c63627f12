"""Moves jobs of Bull to a queue in the same slot: one script per job, so each job is always in exactly one queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from bullrush.extending import now_ms, reply
from bullrush.legacy.convert import DROPPED, FIELDS, Converted, RawHash, Rules, changes, convert, due_at
from bullrush.legacy.migrating.moved import BATCH, Moved, no_job, place_of
from bullrush.legacy.wrong_types import WrongType, read_keys

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue

_READ: Final = (*FIELDS, *DROPPED)
#: A job that ran between its reading and its move has changed in one of these, and is read again.
_SEEN: Final = ("opts", "timestamp", "attemptsMade", "stalledCounter", "processedOn", "progress")
_REASONS: Final = {-1: "changed", -2: "taken", -3: "locked", -4: "gone"}
_NO_DATA: Final = "it has no data"


class SlotMover:
    """Moves jobs by `lua/legacy/move_job.lua`. Their data and logs do not leave Redis.

    Args:
        core: the queue of Bull.
        source: its prefix and name.
        other: prefix and name of the other queue.
        rules: how jobs are converted.
        new_ids: returns the id in the other queue, and the one to take if a job has that id; "" for none.
    """

    def __init__(
        self,
        core: CoreQueue,
        source: str,
        other: tuple[str, str],
        rules: Rules,
        new_ids: Callable[[str], tuple[str, str]],
    ) -> None:
        self._core, self._source, self._other = core, source, other
        self._rules, self._new_ids = rules, new_ids
        self.size = BATCH

    async def move(self, place: str, ids: Sequence[str]) -> list[Moved]:
        """Move jobs out of a list or set, in this order; those that are not there any more are left out.

        Args:
            place: wait, paused, delayed, active, completed or failed. An active job that is locked is not moved.
            ids: the ids of the jobs.
        """
        found, scores = await self._read(place, ids)
        no_jobs = [no_job(id, place, raw) for id, raw in zip(ids, found, strict=True) if isinstance(raw, WrongType)]
        jobs = [
            (id, raw, score)
            for id, raw, score in zip(ids, found, scores, strict=True)
            if not isinstance(raw, WrongType)
        ]
        now = now_ms()
        converted = [
            convert(raw, place, now, self._rules, None if score is None else due_at(score)) for _, raw, score in jobs
        ]
        calls = [self._call(place, id, raw, new) for (id, raw, _), new in zip(jobs, converted, strict=True)]
        replies = await reply(self._core.legacy_calls("move_job", calls, self._other)) if calls else []
        return no_jobs + [
            self._moved(id, place, new, answer)
            for (id, _, _), new, answer in zip(jobs, converted, replies, strict=True)
            if answer != 0
        ]

    async def _read(
        self, place: str, ids: Sequence[str]
    ) -> tuple[list[dict[str, bytes] | WrongType], Sequence[bytes | None]]:
        """Return the fields of jobs that are converted, and the scores of delayed ones."""
        commands: list[list[str]] = [["HMGET", f"{self._source}:{id}", *_READ] for id in ids]
        if place == "delayed":
            commands += [["ZSCORE", f"{self._source}:delayed", id] for id in ids]
        found = await read_keys(self._core, commands)
        raws = [
            values
            if isinstance(values, WrongType)
            else {field: value for field, value in zip(_READ, values, strict=True) if value is not None}
            for values in found[: len(ids)]
        ]
        return raws, found[len(ids) :] or [None] * len(ids)

    def _call(self, place: str, id: str, raw: RawHash, new: Converted) -> list[int | str | bytes]:
        """Return the arguments of ``move_job``."""
        written, deleted = changes(raw, new)
        target, score = place_of(place, new)
        counted = f"{self._source} {place}" if place in ("completed", "failed") else ""
        call: list[int | str | bytes] = [place, id, *self._new_ids(id), target, score, counted]
        call += [len(_SEEN), len(deleted), len(written)]
        for field in _SEEN:
            call += (field, raw.get(field, b""))
        call += deleted
        for field, value in written.items():
            call += (field, value)
        return call

    def _moved(self, id: str, place: str, new: Converted, answer: Any) -> Moved:
        if isinstance(answer, int):
            return Moved(id, place, None, _REASONS[answer])
        new_id, has_data = answer[0].decode(), answer[1]
        notes = new.notes if has_data else (*new.notes, _NO_DATA)
        return Moved(id, place, new_id, notes=notes, was_taken=new_id == self._new_ids(id)[1])
