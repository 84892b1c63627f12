"""What ``--fix`` does. Each repair is safe while workers run, and can be done twice."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from typing import Final, cast

from bullrush.doctor.finding import Finding
from bullrush.doctor.reading import QueueUnderTest
from bullrush.errors import BullrushError
from bullrush.extending import reply
from bullrush.scheduler import JobTemplate, RepeatOptions

#: List elements that one call may pass, so that no other client waits.
_VISITS: Final = 200_000
_LOCK_MS: Final = 30_000
_REPEAT: Final = frozenset({"pattern", "every", "tz", "dst", "start_date", "end_date"})

_Repair = Callable[[QueueUnderTest, Finding], Awaitable[None]]


async def _join_lists(tested: QueueUnderTest, _: Finding) -> None:
    await reply(tested.queue.core.pause())


async def _resume(tested: QueueUnderTest, _: Finding) -> None:
    # Only this queue: its routes may be paused on purpose.
    await reply(tested.queue.core.resume())


async def _delete_old_keys(tested: QueueUnderTest, _: Finding) -> None:
    await tested.server.ask("DEL", tested.key("priority"))


async def _end_limit(tested: QueueUnderTest, _: Finding) -> None:
    await tested.server.ask("DEL", tested.key("limiter"))


async def _let_locks_expire(tested: QueueUnderTest, finding: Finding) -> None:
    await tested.server.ask_all([["PEXPIRE", tested.key(f"{id}:lock"), _LOCK_MS] for id in finding.ids])


async def _write_schedulers(tested: QueueUnderTest, finding: Finding) -> None:
    for id in finding.ids:
        scheduler = tested.queue.get_job_scheduler(id)
        # One with a limit would count from 1 again.
        if scheduler is None or "limit" in scheduler:
            continue
        template: dict[str, object] = {"name": scheduler.get("name", id), **scheduler.get("template", {})}
        repeat = {name: value for name, value in scheduler.items() if name in _REPEAT}
        tested.queue.upsert_job_scheduler(id, cast("RepeatOptions", repeat), cast("JobTemplate", template))


async def _remove_jobs(tested: QueueUnderTest, finding: Finding) -> None:
    lengths = await tested.server.ask_all([["LLEN", tested.key(name)] for name in ("wait", "paused", "active")])
    size = max(1, min(250, _VISITS // max(1, sum(lengths))))
    for first in range(0, len(finding.ids), size):
        await reply(tested.queue.core.remove_orphaned_jobs(finding.ids[first : first + size]))


async def _remove_ids(tested: QueueUnderTest, finding: Finding) -> None:
    for id in finding.ids:
        if not await tested.server.ask("EXISTS", tested.key(id)):
            await reply(tested.queue.core.remove(id, False))


async def _free_deduplication_ids(tested: QueueUnderTest, finding: Finding) -> None:
    for id in finding.ids:
        owner = await tested.server.ask("GET", tested.key(f"de:{id}"))
        if owner is not None and not await tested.server.ask("EXISTS", tested.key(owner.decode(errors="replace"))):
            await tested.server.ask("DEL", tested.key(f"de:{id}"))


async def _delete_directories(_: QueueUnderTest, finding: Finding) -> None:
    for folder in finding.ids:
        shutil.rmtree(folder, ignore_errors=True)


REPAIRS: Final[dict[str, _Repair]] = {
    "BR102": _join_lists,
    "BR103": _resume,
    "BR105": _delete_old_keys,
    "BR106": _end_limit,
    "BR111": _let_locks_expire,
    "BR112": _write_schedulers,
    "BR202": _remove_jobs,
    "BR203": _remove_ids,
    "BR207": _free_deduplication_ids,
    "BR301": _delete_directories,
}


async def repair(tested: QueueUnderTest, finding: Finding) -> str | None:
    """Repair what was found.

    Args:
        tested: the queue that it is about; for the machine any queue.
        finding: what was found.

    Returns:
        Why that was not possible; None if it is done.
    """
    try:
        await REPAIRS[finding.code](tested, finding)
    except BullrushError as error:
        return str(error)
    return None
