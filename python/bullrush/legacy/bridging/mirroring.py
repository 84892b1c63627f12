"""Tells the queue of Bull how jobs ended that were moved to BullMQ, for callers that wait there.

The hash ``ext:mirror`` of the other queue has what is not mirrored yet: the id of each job and what to do when it has
ended. It is written by the script that adds the job, and an entry goes only after the end stands in the queue of Bull;
so a bridge that stops at any time, and starts again, mirrors every end. Ends are found by the event stream at once, and
by reading ``ext:mirror`` through, a part at a time, where the stream has been trimmed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bullrush.extending import now_ms, reply
from bullrush.legacy.bridging.outcome import Ended, as_bull_writes
from bullrush.legacy.bridging.remembered import decoded_object
from bullrush.legacy.reading import fields_of

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue
    from bullrush.legacy.flavor import Layout

#: So many events are read in one round, and so many jobs looked up.
_EVENTS: Final = 1000
_SWEEP: Final = 200
_FIELDS: Final = ("returnvalue", "failedReason", "finishedOn", "processedOn", "atm", "stacktrace", "opts")


class _Entry(NamedTuple):
    """One job that is not mirrored yet."""

    target_id: str
    id: str
    rules: Mapping[str, Any]


class Mirror:
    """Mirrors the ends of one queue's jobs.

    Args:
        legacy: the queue of Bull.
        base: its prefix and name.
        source: how the other queue calls it.
        layout: its version.
        target: the other queue.
        target_name: its name, for the error that callers get if a job has vanished there.
        to_key: returns keys of the other queue.
    """

    def __init__(
        self,
        legacy: CoreQueue,
        base: str,
        *,
        source: str,
        layout: Layout,
        target: CoreQueue,
        target_name: str,
        to_key: Callable[[str], str],
    ) -> None:
        self._legacy, self._base, self._source, self._layout = legacy, base, source, layout
        self._target, self._target_name, self._to_key = target, target_name, to_key
        self._last_event = b""
        self._cursor: bytes | int = 0
        #: How many ends were mirrored.
        self.mirrored: int = 0

    async def step(self) -> int:
        """Mirror the ends that events tell, and look up a part of the other jobs; return how many were mirrored."""
        before = self.mirrored
        results, page = await self._read_events(), await self._read_page()
        known = {entry.target_id for entry in page}
        heard = [id for id in results if id not in known]
        if heard:
            [values] = await reply(self._target.commands([["HMGET", self._to_key("ext:mirror"), *heard]]))
            page += self._entries(zip(heard, values, strict=True))
        await self._settle(page, results)
        return self.mirrored - before

    async def is_done(self) -> bool:
        """Return whether every job of the source has ended and is mirrored."""
        cursor: bytes | int = 0
        while True:
            [[cursor, found]] = await reply(
                self._target.commands([["HSCAN", self._to_key("ext:mirror"), cursor, "COUNT", _SWEEP]])
            )
            if self._entries(fields_of(found).items()):
                return False
            if int(cursor) == 0:
                return True

    async def _read_events(self) -> dict[str, Ended]:
        """Return how jobs ended, as the events since the last call say."""
        key = self._to_key("events")
        if not self._last_event:
            [newest] = await reply(self._target.commands([["XREVRANGE", key, "+", "-", "COUNT", 1]]))
            self._last_event = newest[0][0] if newest else b"0-0"
            return {}
        start = b"(" + self._last_event
        [events] = await reply(self._target.commands([["XRANGE", key, start, "+", "COUNT", _EVENTS]]))
        ended: dict[str, Ended] = {}
        for id, found in events:
            self._last_event = id
            fields = fields_of(found)
            kind = fields.get("event")
            if kind in (b"completed", b"failed") and "jobId" in fields:
                value = fields.get("returnvalue" if kind == b"completed" else "failedReason", b"")
                ended[fields["jobId"].decode(errors="replace")] = Ended(kind.decode(), value, now_ms())
        return ended

    async def _read_page(self) -> list[_Entry]:
        """Return the next part of the jobs that are not mirrored yet."""
        [[self._cursor, found]] = await reply(
            self._target.commands([["HSCAN", self._to_key("ext:mirror"), self._cursor, "COUNT", _SWEEP]])
        )
        return self._entries(fields_of(found).items())

    def _entries(self, found: Any) -> list[_Entry]:
        entries = []
        for target_id, stored in found:
            rules = decoded_object(stored or b"")
            if rules.get("from") == self._source:
                entries.append(_Entry(target_id, rules["id"], rules))
        return entries

    async def _settle(self, entries: Sequence[_Entry], heard: Mapping[str, Ended]) -> None:
        """Mirror those of the jobs that have ended."""
        if not entries:
            return
        commands: list[list[int | str | bytes]] = []
        for entry in entries:
            id = entry.target_id
            commands += [
                ["ZSCORE", self._to_key("completed"), id],
                ["ZSCORE", self._to_key("failed"), id],
                ["EXISTS", self._to_key(id)],
                ["HMGET", self._to_key(id), *_FIELDS],
            ]
        found = await reply(self._target.commands(commands))
        ended = []
        for at, entry in enumerate(entries):
            completed, failed, exists, values = found[4 * at : 4 * at + 4]
            fields = dict(zip(_FIELDS, values, strict=True))
            if completed is not None or failed is not None:
                ended.append((entry, _ended("failed" if completed is None else "completed", fields)))
            elif not exists:
                gone = Ended("failed", f"The job is not in queue {self._target_name} any more".encode(), now_ms())
                ended.append((entry, heard.get(entry.target_id, gone)))
        if ended:
            await self._write(ended, {entry.id for entry, _ in ended})

    async def _write(self, ended: Sequence[tuple[_Entry, Ended]], ids: set[str]) -> None:
        of_bull: dict[str, dict[str, bytes]] = {}
        if self._layout == "2":  # its messages have the whole job
            order = list(ids)
            hashes = await reply(self._legacy.commands([["HGETALL", f"{self._base}:{id}"] for id in order]))
            of_bull = {id: fields_of(found) for id, found in zip(order, hashes, strict=True)}
        calls = [
            as_bull_writes(
                self._layout,
                self._base,
                id=entry.id,
                end=end,
                keep=keep_rule(entry, end),
                job=of_bull.get(entry.id, {}),
            )
            for entry, end in ended
        ]
        self.mirrored += sum(await reply(self._legacy.legacy_calls("mirror_job", calls)))
        forgotten: list[list[int | str | bytes]] = []
        for entry, end in ended:
            count, age = keep_rule(entry, end)
            forgotten.append([now_ms(), entry.target_id, end.state, count, age])
        await reply(self._target.legacy_calls("forget_mirrored", forgotten))


def keep_rule(entry: _Entry, end: Ended) -> tuple[int | str, int | str]:
    """Return how many finished jobs are kept, and for how many seconds; "" for all and for ever."""
    rule = entry.rules.get(end.state)
    if isinstance(rule, dict):
        return _whole(rule.get("count")), _whole(rule.get("age"))
    if isinstance(rule, bool) or rule is None:
        return (0 if rule else ""), ""
    return _whole(rule), ""


def _whole(value: object) -> int | str:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else ""


def _ended(state: str, fields: Mapping[str, bytes | None]) -> Ended:
    value = fields["returnvalue"] or b"null" if state == "completed" else fields["failedReason"] or b""
    finished_on = int(fields["finishedOn"] or 0) or now_ms()
    return Ended(state, value, finished_on, fields["processedOn"], fields["atm"], fields["stacktrace"])
