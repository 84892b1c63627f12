"""Asking why a job does not run, which failures are one, and which jobs fit a filter.

What answers is imported at the first question: most programs never ask, and start sooner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bullrush.base.handle import Handle
from bullrush.base.operation import operation
from bullrush.values import checks
from bullrush.values.naming import check_given_id

if TYPE_CHECKING:
    from bullrush.inspection import FailureGroup, Searched, SearchPosition, Where, Why

#: So many failed jobs are looked at, the newest ones.
NEWEST_FAILURES: Final = 10_000


class QueueInspection(Handle):
    """The calls that explain and search jobs without changing them."""

    @operation
    async def why(self, job_id: str) -> Why:
        """Say in one sentence why a job does not run, or what happened to it.

        Args:
            job_id: the id of the job.

        Redis:
            Two round trips for a job that has ended, three if it failed because of a child, four to eight for one that
            has not; nothing is written. Of a parent up to 20 children are looked at, all at the same time. Constant
            time, but for CLIENT LIST, which grows with the number of connections, and the place of a job behind 10,000
            others, which grows with the list.
        """
        from bullrush.inspection.facts import why

        return await why(self, check_given_id(job_id), self._job)

    @operation
    async def failures(self, newest: int = NEWEST_FAILURES) -> list[FailureGroup]:
        """Group the failed jobs that are kept by their cause, the largest group first.

        Jobs belong together if their errors have the same type and come from the same place in the user's code; what
        differs in their texts, such as ids, does not count.

        Args:
            newest: how many failed jobs are looked at, those that failed last.

        Raises:
            InvalidOptionError: the number is not positive.

        Redis:
            One round trip for the ids, and one for each 250 jobs: one HMGET per job.
        """
        from bullrush.inspection.failures import failure_groups

        return await failure_groups(self.core, checks.at_least(1)("newest", newest))

    @operation
    async def search(self, where: str | Where, state: str, *, after: SearchPosition | None = None) -> Searched:
        """Look for jobs of a state, the newest ones first.

        The first call looks at the 10,000 newest jobs at once. Each further one goes on for at most half a second, in
        which Redis is busy with it for at most a tenth of the time. Jobs that were in the state when the search began
        and did not move are all looked at, whatever else comes and goes. Where the 100 jobs that were looked at last
        have all left the state, the search begins anew: jobs may be found twice, and ``looked_at`` is smaller then.

        Args:
            where: the filter, such as ``name:welcome* data.user.id:17 failed>1h attempt>2``.
            state: waiting, active, delayed, prioritized, waiting-children, completed or failed.
            after: where the part before has ended.

        Raises:
            InvalidOptionError: the filter cannot be read, or there is no such state.

        Redis:
            An HSTRLEN and an HMGET per job, 50 jobs in a pipeline. A script looks at jobs of more than 2,000 bytes.
        """
        from bullrush.inspection.search import search

        return await search(self.core, where, state, after)
