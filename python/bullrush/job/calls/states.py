"""The calls that read a job's state, and its attributes again."""

from __future__ import annotations

from bullrush.base.operation import operation, reply
from bullrush.errors import from_code
from bullrush.job.calls.moves import write_start
from bullrush.job.fields import JobFields


class JobStates(JobFields):
    """The calls that read a job's state, and its attributes again. Each is one round trip."""

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

    @operation
    async def refresh(self) -> None:
        """Read the attributes of the job again, such as its progress and its result.

        Raises:
            JobNotFoundError: the job is gone; the attributes stay.
            MalformedJobError: the stored data is not JSON.
        """
        await write_start(self)  # else Redis would still have the job as it was claimed
        record = await reply(self._source.core.get_job(self.id))
        if record is None:
            raise from_code(-1, f"Missing key for job {self.queue_qualified_name}:{self.id}. refresh")
        self._take(record)

    async def _state(self) -> str:
        return await reply(self._source.core.get_state(self.id))
