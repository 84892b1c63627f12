"""Calls and attributes of a job under BullMQ's older names."""

from __future__ import annotations

from bullrush.base.operation import operation
from bullrush.job.calls.dependencies import JobDependencies
from bullrush.job.fields import JobFields


class JobAliases(JobFields):
    """Each does the same as the call or attribute that its docstring names."""

    __slots__ = ()

    @property
    def debounce_id(self) -> str | None:
        """The older name of `deduplication_id`."""
        return self.deduplication_id

    @operation
    async def get_failed_children_values(self) -> dict[str, str]:
        """Do the same as `get_ignored_children_failures`; the older name."""
        return await JobDependencies.get_ignored_children_failures.steps(self)
