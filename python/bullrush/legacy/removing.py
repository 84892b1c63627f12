"""The calls that remove jobs and repeatables from a queue of Bull."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bullrush.errors import InvalidOptionError, SchedulerJobError, from_code
from bullrush.extending import check_given_id, check_job_id, operation, read_number, reply
from bullrush.legacy.flavor import LegacyBase
from bullrush.legacy.migrating.claiming import CLAIM_LOCK, new_claim
from bullrush.legacy.migrating.schedulers import PENDING, owner
from bullrush.legacy.new_repeatable import repeatable_key
from bullrush.legacy.reading import read_all, read_jobs
from bullrush.legacy.repeatable import Repeatable, read_repeatable

if TYPE_CHECKING:
    from bullrush.scheduler import RepeatOptions

#: The lists and sets out of which a job can be removed: where it waits to run, and where it is when it has ended.
_WAITING: Final = ("wait", "paused", "delayed")
_FINISHED: Final = ("completed", "failed")
#: What ``claim_job`` answers for an id whose key is of another type.
_NO_JOB: Final = -1
#: Scores of delayed jobs per ms, see `docs/bull-layout.md`.
_SCORES: Final = 4096


class LegacyRemoving(LegacyBase):
    """The calls that remove jobs and repeatables."""

    @operation
    async def remove(self, job_id: str) -> bool:
        """Remove a job that waits, is delayed or has finished, with its log; a debounce id is free again.

        An id whose key is no hash, and so no job, leaves its lists; the key stays, since nobody knows whose it is.

        Redis: a script per state, in one pipeline (``legacy/claim_job``), and one more (``legacy/acknowledge_job``). If
        the program is killed between the two, the next `migrate` or `bridge` moves the job instead.

        Args:
            job_id: the id of the job.

        Returns:
            Whether it was removed. An active job is not: it is its worker's. Of waiting jobs the 10,000 that run next
                are looked at.

        Raises:
            SchedulerJobError: the job is the next one of a repeatable, which would stop without it: see
                `remove_repeatable`.
            LegacyQueueError: the queue belongs to BullMQ or to both.
            OutcomeUnknownError: the connection broke; the job was removed or not.
        """
        id, claim = check_given_id(job_id), new_claim()
        await self._check_owner()
        repeatable = await self._repeatable_of(id)
        # The first place that has the job claims it; the others find the claim.
        places = _FINISHED if repeatable else (*_WAITING, *_FINISHED)
        calls: list[list[int | str | bytes]] = [[place, id, claim, CLAIM_LOCK, 1] for place in places]
        found = await reply(self.core.legacy_calls("claim_job", calls))
        if any(isinstance(job, list) for job in found):
            await reply(self.core.legacy_calls("acknowledge_job", [[id, claim, 0]]))
            return True
        if _NO_JOB in found:
            return True
        if repeatable and any(place is not None for place in await self._waiting_places(id)):
            raise from_code(
                SchedulerJobError.code,
                f"Job {id} is the next one of a repeatable and cannot be removed directly: "
                f"LegacyQueue.remove_repeatable({repeatable.key!r}) removes both",
            )
        return False

    @operation
    async def remove_repeatable(
        self, key: str, repeat: RepeatOptions | None = None, *, job_id: str | None = None
    ) -> bool:
        """Remove a repeatable and its next job, as Bull's ``removeRepeatableByKey`` and ``removeRepeatable`` do.

        A job of it that is due already, so that it waits or runs, still runs. None comes after it.

        Redis: two round trips to find its next job, and the script ``legacy/drop_repeatable``; once more if a worker of
        Bull has made the next job meanwhile.

        Args:
            key: the ``key`` of `get_repeatables`; with ``repeat`` the name of the repeatable.
            repeat: the options with which it was added.
            job_id: the id with which it was added; only together with ``repeat``.

        Returns:
            Whether there was such a repeatable.

        Raises:
            InvalidOptionError: an argument has an invalid value.
            LegacyQueueError: the queue belongs to BullMQ or to both.
            OutcomeUnknownError: the connection broke; the repeatable was removed or not.
        """
        if not isinstance(key, str):
            raise InvalidOptionError(f"key must be a str, not {type(key).__name__}")
        if repeat is not None:
            key = repeatable_key(key, repeat, None if job_id is None else check_job_id(job_id)).key
        elif job_id is not None:
            raise InvalidOptionError("job_id needs repeat: the key of a repeatable has its id")
        await self._check_owner()
        while True:
            [score] = await read_all(self, [["ZSCORE", self.to_key("repeat"), key]])
            if score is None:
                return False
            repeatable = read_repeatable(key, read_number(score) or 0)
            id, opts = await self._delayed_job(repeatable)
            # Nothing is removed if a worker has made the next job since.
            [dropped] = await reply(
                self.core.legacy_calls("drop_repeatable", [[key, str(repeatable.next), "delayed", id, opts]])
            )
            if dropped:
                return True

    async def _repeatable_of(self, id: str) -> Repeatable | None:
        """Return the repeatable whose next job has this id."""
        if not id.startswith(PENDING):
            return None
        [job] = await read_jobs(self, [id])
        if job is None:
            return None
        [found] = await read_all(self, [["ZRANGE", self.to_key("repeat"), 0, -1, "WITHSCORES"]])
        pairs = zip(found[::2], found[1::2], strict=True)
        every = [read_repeatable(key.decode(errors="replace"), read_number(score) or 0) for key, score in pairs]
        return owner(id, job.fields, every)

    async def _waiting_places(self, id: str) -> list[object]:
        """Return where a job stands in the lists and the set of jobs that wait."""
        wait, paused, delayed = (self.to_key(place) for place in _WAITING)
        return await read_all(self, [["LPOS", wait, id], ["LPOS", paused, id], ["ZSCORE", delayed, id]])

    async def _delayed_job(self, repeatable: Repeatable) -> tuple[str, bytes]:
        """Return the id and the options of the next job of a repeatable while it is delayed; else two empty texts."""
        first = repeatable.next * _SCORES
        [ids] = await read_all(self, [["ZRANGEBYSCORE", self.to_key("delayed"), first, first + _SCORES - 1]])
        pending = [id for id in (found.decode(errors="replace") for found in ids) if id.startswith(PENDING)]
        for id, job in zip(pending, await read_jobs(self, pending), strict=True):
            if job is not None and owner(id, job.fields, [repeatable]):
                return id, job.fields.get("opts", b"")
        return "", b""
