"""What somebody can do with a queue of Bull who has come with what is for queues of BullMQ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bullrush.legacy.discovery import LegacyStatus

#: The calls of `LegacyQueue` that read jobs.
_READS: Final = ("get_jobs", "get_job", "get_job_state", "get_job_logs")


def advice(
    status: LegacyStatus, who: str, goal: str, *, count: str, move: str, calls: Sequence[str] = (), more: str = ""
) -> str:
    """Return what takes the queue as it is, and what makes one of BullMQ of it.

    Args:
        status: the queue.
        who: says that it is for queues of BullMQ, with its verb, such as ``this command is``.
        goal: what works after a move, such as ``use this command``.
        count: the command that counts its jobs.
        move: the command that moves them, without the new prefix.
        calls: the methods of `LegacyQueue` that do what was wanted; by default those that read jobs.
        more: what another command does, too.
    """
    return (
        f"{status.prefix}:{status.name} is a queue of Bull, BullMQ's predecessor, and {who} for queues of BullMQ. "
        f"`{count}` counts its jobs{more}; in a program bullrush.LegacyQueue has "
        f"{', '.join(f'{call}()' for call in calls or _READS)}. To {goal}, move the jobs to BullMQ: "
        f"`{move} --to-prefix bullmq --dry-run` says what that does"
    )
