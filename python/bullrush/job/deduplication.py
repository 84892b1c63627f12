"""Deduplication ids: which job has one, and freeing them."""

from __future__ import annotations

from bullrush.base.operation import operation, reply
from bullrush.job.fields import JobFields


class JobDeduplication(JobFields):
    """The call of a job about its deduplication id."""

    __slots__ = ()

    @operation
    async def remove_deduplication_key(self) -> bool:
        """Free the job's deduplication id, so that the next job of this id is added.

        Returns:
            False if the job has none, or another job has it by now.
        """
        id = self.deduplication_id
        return id is not None and await reply(self._source.core.remove_deduplication_key(self.id, id))
