"""Finding orphaned jobs: jobs that are in no state of a queue, and left-over keys of removed jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bullrush._core import is_reserved_id
from bullrush.base.operation import reply
from bullrush.queue.discovery import pattern_of

if TYPE_CHECKING:
    from bullrush.base.handle import Handle

_PARTS: Final = frozenset({"logs", "dependencies", "processed", "failed", "unsuccessful", "lock"})
_SETS: Final = ("completed", "failed", "delayed", "prioritized", "waiting-children")
_LISTS: Final = ("wait", "paused", "active")
_PAGE: Final = 10_000
#: How many list elements one script call may read.
_MAX_VISITS: Final = 1_000_000
_MAX_BATCH: Final = 250


async def listed_ids(queue: Handle) -> set[str]:
    """Return all ids in the queue's lists. To look up a single id in a list would be slow."""
    ids: set[str] = set()
    for name in _LISTS:
        first, page = 0, [b""]
        while page:
            (page,) = await reply(queue.core.commands([["LRANGE", queue.to_key(name), first, first + _PAGE - 1]]))
            ids.update(job_id.decode(errors="replace") for job_id in page)
            first += _PAGE
    return ids


async def next_candidates(queue: Handle, cursor: bytes, count: int, listed: set[str]) -> tuple[bytes, list[list[str]]]:
    """Scan some keys of the database for orphaned jobs.

    Returns:
        The next cursor, and the ids of jobs that seem to be in no state, in batches for one script call each. The
        script checks again.
    """
    prefix = queue.to_key("")
    ((cursor, keys),) = await reply(
        queue.core.commands([["SCAN", cursor, "MATCH", pattern_of(prefix), "COUNT", count]])
    )
    ids = dict.fromkeys(job_id_of(key.decode(errors="replace")[len(prefix) :]) for key in keys)
    candidates = await _in_no_set(queue, [id for id in ids if id not in listed and not is_queue_key(id)])
    size = max(1, min(_MAX_BATCH, _MAX_VISITS // max(1, len(listed))))
    return cursor, [candidates[first : first + size] for first in range(0, len(candidates), size)]


async def _in_no_set(queue: Handle, ids: list[str]) -> list[str]:
    if not ids:
        return []
    scores = await reply(queue.core.commands([["ZMSCORE", queue.to_key(name), *ids] for name in _SETS]))
    return [
        job_id for job_id, *found in zip(ids, *scores, strict=True) if not any(score is not None for score in found)
    ]


def job_id_of(suffix: str) -> str:
    """Return the id of the job to which a key belongs: its hash, its log, its lock..."""
    job_id, _, part = suffix.rpartition(":")
    # `order:7:failed` is itself an id: ids have no colon or two, so it is not the part `failed` of a job `order:7`.
    return job_id if part in _PARTS and (job_id.count(":") in {0, 2} or _is_iteration(job_id)) else suffix


def _is_iteration(job_id: str) -> bool:
    """Tell whether a job of a scheduler has this id: ``repeat:<scheduler>:<millis>``."""
    return job_id.startswith("repeat:") and job_id.rpartition(":")[2].isdigit()


def is_queue_key(job_id: str) -> bool:
    """Tell whether a key is one of the queue itself."""
    return is_reserved_id(job_id) and not _is_iteration(job_id)
