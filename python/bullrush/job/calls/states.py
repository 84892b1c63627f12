"""The calls that read a job's state."""

from __future__ import annotations

from bullrush.base.operation import operation, reply
from bullrush.job.fields import JobFields


class JobStates(JobFields):
    """The calls that read a job's state. Each is one round trip."""

    __slots__ = ()

    @operation
    async def get_state(self) -> str:
        """Return the job's state.

        It is completed, failed, delayed, prioritized, active, waiting, waiting-children or unknown.
        """
        return await self._state()

    @operation
    async def is_completed(self) -> bool:
        """Return whether the job is completed."""
        return await self._state() == "completed"

    @operation
    async def is_failed(self) -> bool:
        """Return whether the job has failed for good."""
        return await self._state() == "failed"

    @operation
    async def is_delayed(self) -> bool:
        """Return whether the job is delayed."""
        return await self._state() == "delayed"

    @operation
    async def is_active(self) -> bool:
        """Return whether a worker has the job."""
        return await self._state() == "active"

    @operation
    async def is_waiting(self) -> bool:
        """Return whether the job waits, in a running or a paused queue."""
        return await self._state() == "waiting"

    @operation
    async def is_waiting_children(self) -> bool:
        """Return whether the job waits for its children."""
        return await self._state() == "waiting-children"

    async def _state(self) -> str:
        return await reply(self._source.core.get_state(self.id))
