"""A queue whose calls are awaited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bullrush.aio.job import Job
from bullrush.operation import Awaited
from bullrush.queue import QueueCalls

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


class Queue(Awaited, QueueCalls[Job]):
    """A queue, for asyncio: `bullrush.Queue` with its calls awaited."""

    _job_type = Job

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        await self.close()
