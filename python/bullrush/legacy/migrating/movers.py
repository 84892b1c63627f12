"""What moves the jobs of a queue of Bull: one script per job in the same slot, else claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bullrush.errors import QueueNameError
from bullrush.extending import QueueCalls, reply
from bullrush.legacy.convert import Rules
from bullrush.legacy.flavor import LegacyBase
from bullrush.legacy.migrating.claiming import ClaimingMover
from bullrush.legacy.migrating.moved import Ids, new_ids
from bullrush.legacy.migrating.options import place
from bullrush.legacy.migrating.repeating import Repeating
from bullrush.legacy.migrating.same_slot import SlotMover
from bullrush.legacy.migrating.servers import core_of


def source_at(queue: LegacyBase, target: QueueCalls[Any]) -> str:
    """Return the name of this queue, as the target remembers it."""
    here = place(queue._url)
    return queue.qualified_name if here == place(target._url) else f"{'/'.join(here)} {queue.qualified_name}"


async def is_in_slot(queue: LegacyBase, target: QueueCalls[Any]) -> bool:
    """Return whether one script can touch both queues."""
    if place(queue._url) != place(target._url):
        return False
    try:
        await reply(queue.core.legacy_calls("move_job", [], (target.prefix, target.name)))
    except QueueNameError:
        return False  # on a cluster, in another slot
    return True


def ids_of(queue: LegacyBase, rules: Rules, decision: Ids) -> Callable[[str], tuple[str, str]]:
    """Return what gives the jobs of this queue their ids, see `new_ids`."""
    return new_ids(decision, queue.name if rules.taken_ids == "rename" else "")


async def slot_mover(queue: LegacyBase, target: QueueCalls[Any], rules: Rules, decision: Ids) -> SlotMover | None:
    """Return what moves a job by one script; None if the queues are on two servers, or in two slots of a cluster."""
    if not await is_in_slot(queue, target):
        return None
    return SlotMover(
        queue.core, queue.qualified_name, (target.prefix, target.name), rules, ids_of(queue, rules, decision)
    )


def claiming_mover(
    queue: LegacyBase, target: QueueCalls[Any], rules: Rules, decision: Ids, *, mirror: bool = False
) -> ClaimingMover:
    """Return what moves jobs to any server, and finishes what such a mover has left."""
    return ClaimingMover(
        queue.core,
        queue.qualified_name,
        source=source_at(queue, target),
        target=core_of(target),
        to_key=target.to_key,
        rules=rules,
        new_ids=ids_of(queue, rules, decision),
        mirror=mirror,
    )


async def repeating(queue: LegacyBase, target: QueueCalls[Any], rules: Rules) -> Repeating:
    """Return what moves repeatables."""
    elsewhere = None if await is_in_slot(queue, target) else core_of(target)
    return Repeating(queue.core, queue.qualified_name, (target.prefix, target.name), rules, elsewhere)
