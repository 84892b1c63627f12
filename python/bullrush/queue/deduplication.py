"""The calls of a queue about deduplication ids: which job has one, and freeing it."""

from __future__ import annotations

from bullrush.base.handle import Handle
from bullrush.base.operation import operation, reply


class QueueDeduplication(Handle):
    """The calls of a queue about deduplication ids."""

    @operation
    async def get_deduplication_job_id(self, id: str) -> str | None:
        """Return the id of the job that keeps others of this deduplication id away, None if there is none."""
        return await self._owner(id)

    @operation
    async def get_debounce_job_id(self, id: str) -> str | None:
        """Do the same as `get_deduplication_job_id`; the older name."""
        return await self._owner(id)

    @operation
    async def remove_deduplication_key(self, id: str) -> int:
        """Free a deduplication id, whichever job has it: the next job of this id is added.

        Returns:
            1, or 0 if it was free.
        """
        return await self._freed(id)

    @operation
    async def remove_debounce_key(self, id: str) -> int:
        """Do the same as `remove_deduplication_key`; the older name."""
        return await self._freed(id)

    async def _owner(self, id: str) -> str | None:
        (owner,) = await reply(self.core.commands([["GET", self.to_key(f"de:{id}")]]))
        return None if owner is None else owner.decode()

    async def _freed(self, id: str) -> int:
        (freed,) = await reply(self.core.commands([["DEL", self.to_key(f"de:{id}")]]))
        return int(freed)
