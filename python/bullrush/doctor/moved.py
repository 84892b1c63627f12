"""Finds queues of Bull that have moved: BullMQ's key, by which queues are found, is not there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from bullrush.extending import QueueScan, reply

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue

#: Characters that mean something in a pattern of Redis.
_SPECIAL: Final = re.compile(r"[\\*?\[\]]")


class MovedScan(QueueScan):
    """A walk through the keys of a server that finds the queues with a signpost."""

    _ends: ClassVar[tuple[str, ...]] = (":ext:moved",)

    async def _keys(self, server: CoreQueue, cursor: int) -> tuple[int, list[bytes]]:
        pattern = _SPECIAL.sub(lambda found: f"\\{found[0]}", self._start) + f"*{self._ends[0]}"
        command: list[int | str | bytes] = ["SCAN", cursor, "MATCH", pattern, "COUNT", self._size]
        [[after, keys]] = await reply(server.commands([command], checked=self._checked))
        return int(after), keys
