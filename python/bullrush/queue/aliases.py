"""Calls of a queue under BullMQ's older names."""

from __future__ import annotations

from bullrush.base.handle import Handle
from bullrush.base.operation import operation, reply


class QueueAliases(Handle):
    """Each does the same as the call that its docstring names."""

    @operation
    async def get_debounce_job_id(self, id: str) -> str | None:
        """Do the same as `get_deduplication_job_id`; the older name.

        Args:
            id: the deduplication id.
        """
        return await reply(self.core.deduplication_owner(id))

    @operation
    async def remove_debounce_key(self, id: str) -> int:
        """Do the same as `remove_deduplication_key`; the older name.

        Args:
            id: the deduplication id.
        """
        return await reply(self.core.free_deduplication_id(id))
