"""What moves the jobs of a queue of Bull: one script per job in the same slot, else claims."""

from __future__ import annotations

from typing import Any

from bullrush.base.operation import reply
from bullrush.errors import QueueNameError
from bullrush.legacy.convert import Rules
from bullrush.legacy.migrating.claiming import ClaimingMover
from bullrush.legacy.migrating.moved import Ids, new_ids
from bullrush.legacy.migrating.options import place
from bullrush.legacy.migrating.repeating import Repeating
from bullrush.legacy.migrating.same_slot import SlotMover
from bullrush.legacy.reading import LegacyReading
from bullrush.queue.queue import QueueCalls


class LegacyMovers(LegacyReading):
    """Chooses how jobs move."""

    def _source_at(self, target: QueueCalls[Any]) -> str:
        """Return the name of this queue, as the target remembers it."""
        here = place(self._url)
        return self.qualified_name if here == place(target._url) else f"{'/'.join(here)} {self.qualified_name}"

    async def _is_in_slot(self, target: QueueCalls[Any]) -> bool:
        """Return whether one script can touch both queues."""
        if place(self._url) != place(target._url):
            return False
        try:
            await reply(self.core.legacy_calls("move_job", [], (target.prefix, target.name)))
        except QueueNameError:
            return False  # on a cluster, in another slot
        return True

    async def _slot_mover(self, target: QueueCalls[Any], rules: Rules, decision: Ids) -> SlotMover | None:
        """Return what moves a job by one script; None if the queues are on two servers, or in two slots of a cluster."""
        if not await self._is_in_slot(target):
            return None
        return SlotMover(self.core, self.qualified_name, (target.prefix, target.name), rules, new_ids(decision))

    def _claiming_mover(
        self, target: QueueCalls[Any], rules: Rules, decision: Ids, *, mirror: bool = False
    ) -> ClaimingMover:
        """Return what moves jobs to any server, and finishes what such a mover has left."""
        return ClaimingMover(
            self.core,
            self.qualified_name,
            self._source_at(target),
            target.core,
            target.to_key,
            rules,
            new_ids(decision),
            mirror=mirror,
        )

    async def _repeating(self, target: QueueCalls[Any], rules: Rules) -> Repeating:
        """Return what moves repeatables."""
        elsewhere = None if await self._is_in_slot(target) else target.core
        return Repeating(self.core, self.qualified_name, (target.prefix, target.name), rules, elsewhere)
