"""What ``--fix`` does. Each repair is safe while workers run, and can be done twice."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from typing import Final, cast

from bullrush.base.operation import reply
from bullrush.doctor.finding import Finding
from bullrush.doctor.reading import Patient
from bullrush.errors import BullrushError
from bullrush.scheduler.options import JobTemplate, RepeatOptions

#: List elements that one call may pass, so that no other client waits.
_VISITS: Final = 200_000
_LOCK_MS: Final = 30_000
_REPEAT: Final = frozenset({"pattern", "every", "tz", "dst", "start_date", "end_date"})

_Repair = Callable[[Patient, Finding], Awaitable[None]]


async def _join_lists(patient: Patient, _: Finding) -> None:
    await reply(patient.queue.core.pause())


async def _resume(patient: Patient, _: Finding) -> None:
    # Only this queue: its routes may be paused on purpose.
    await reply(patient.queue.core.resume())


async def _delete_old_keys(patient: Patient, _: Finding) -> None:
    await patient.server.ask("DEL", patient.key("priority"))


async def _end_limit(patient: Patient, _: Finding) -> None:
    await patient.server.ask("DEL", patient.key("limiter"))


async def _let_locks_expire(patient: Patient, finding: Finding) -> None:
    await patient.server.ask_all([["PEXPIRE", patient.key(f"{id}:lock"), _LOCK_MS] for id in finding.ids])


async def _write_schedulers(patient: Patient, finding: Finding) -> None:
    for id in finding.ids:
        scheduler = patient.queue.get_job_scheduler(id)
        # One with a limit would count from 1 again.
        if scheduler is None or "limit" in scheduler:
            continue
        template: dict[str, object] = {"name": scheduler.get("name", id), **scheduler.get("template", {})}
        repeat = {name: value for name, value in scheduler.items() if name in _REPEAT}
        patient.queue.upsert_job_scheduler(id, cast("RepeatOptions", repeat), cast("JobTemplate", template))


async def _remove_jobs(patient: Patient, finding: Finding) -> None:
    lengths = await patient.server.ask_all([["LLEN", patient.key(name)] for name in ("wait", "paused", "active")])
    size = max(1, min(250, _VISITS // max(1, sum(lengths))))
    for first in range(0, len(finding.ids), size):
        await reply(patient.queue.core.remove_orphaned_jobs(finding.ids[first : first + size]))


async def _remove_ids(patient: Patient, finding: Finding) -> None:
    for id in finding.ids:
        if not await patient.server.ask("EXISTS", patient.key(id)):
            await reply(patient.queue.core.remove(id, False))


async def _free_deduplication_ids(patient: Patient, finding: Finding) -> None:
    for id in finding.ids:
        owner = await patient.server.ask("GET", patient.key(f"de:{id}"))
        if owner is not None and not await patient.server.ask("EXISTS", patient.key(owner.decode(errors="replace"))):
            await patient.server.ask("DEL", patient.key(f"de:{id}"))


async def _delete_directories(_: Patient, finding: Finding) -> None:
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


async def repair(patient: Patient, finding: Finding) -> str | None:
    """Repair what was found.

    Args:
        patient: the queue that it is about; for the machine any queue.
        finding: what was found.

    Returns:
        Why that was not possible; None if it is done.
    """
    try:
        await REPAIRS[finding.code](patient, finding)
    except BullrushError as error:
        return str(error)
    return None
