"""What only ``--deep`` looks at: every job of the queues."""

from __future__ import annotations

from collections.abc import Sequence

from bullrush.doctor.concurrently import groups, together
from bullrush.doctor.deep.deduplication import held_for_ever
from bullrush.doctor.deep.families import orphans
from bullrush.doctor.deep.hashes import Hashes, read_hashes
from bullrush.doctor.deep.jobs import misplaced
from bullrush.doctor.deep.places import Places, read_places
from bullrush.doctor.deep.types import WrongTypes
from bullrush.doctor.finding import Finding
from bullrush.doctor.reading import QueueUnderTest


async def read_jobs(queues: Sequence[QueueUnderTest]) -> list[Finding]:
    """BR104 and BR201 to BR207: every job of some queues of one server, which share one walk through its keys."""
    server = queues[0].server
    places: dict[str, Places] = {}
    for group in groups(queues):
        read = await together([read_places(tested) for tested in group])
        places |= {tested.name: of for tested, of in zip(group, read, strict=True)}
    hashes: dict[str, Hashes] = {}
    found: list[Finding] = []

    wrong = WrongTypes()

    async def compare() -> None:
        hashes.update(await read_hashes(server, places, wrong))

    async def free() -> None:
        found.extend(await held_for_ever(server, places, wrong))

    # Two walks through all keys, in the same round trips.
    await together([compare(), free()])
    found += wrong.findings()
    for group in groups(queues):
        for more in await together([_read(tested, places[tested.name], hashes[tested.name]) for tested in group]):
            found += more
    return found


async def _read(tested: QueueUnderTest, places: Places, hashes: Hashes) -> list[Finding]:
    return [*await misplaced(tested, places, hashes), *await orphans(tested, places)]
