"""BR104, BR201 to BR204: jobs that are no hashes, jobs without a place, places without a job, jobs in two places."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from bullrush.doctor.deep.hashes import Hashes
from bullrush.doctor.deep.places import Places, places_of
from bullrush.doctor.finding import SHOWN, Finding, counted
from bullrush.doctor.reading import QueueUnderTest, texts

#: A hash with one of these is a job. The first one says whether it has ended, the others change when it moves.
_FIELDS: Final = ("finishedOn", "timestamp", "opts", "atm", "ats", "delay", "processedOn", "stc")


async def misplaced(tested: QueueUnderTest, places: Places, hashes: Hashes) -> list[Finding]:
    """BR104 and BR201 to BR204. Whatever moved meanwhile is looked at twice more, and must not have changed."""
    first = await _look(tested, hashes.strange, hashes.unseen, places.twice)
    second = await _look(tested, first[0], {*first[1], *first[3]}, first[2].keys())
    lost = {id: fields for id, fields in second[0].items() if fields == first[0][id]}
    unfinished = texts(id for id, fields in lost.items() if fields[0] is None)
    finished = texts(id for id, fields in lost.items() if fields[0] is not None)
    wrong = {
        "BR104": (texts(second[3]), "job"),
        "BR201": (unfinished, "job"),
        "BR202": (finished, "job"),
        "BR203": (texts(second[1]), "id"),
        "BR204": (texts(second[2]), "job"),
    }
    where = [f"{id.decode(errors='replace')} in {' and in '.join(second[2][id])}" for id in second[2]]
    more = {"BR204": f": {', '.join(where[:SHOWN])}"}
    return [
        Finding(code, counted(len(ids), what) + more.get(code, ""), tested.name, ids)
        for code, (ids, what) in wrong.items()
        if ids
    ]


async def _look(
    tested: QueueUnderTest, strange: Collection[bytes], unseen: Collection[bytes], twice: Collection[bytes]
) -> tuple[dict[bytes, list[bytes | None]], set[bytes], dict[bytes, list[str]], set[bytes]]:
    """Return the jobs in no place with their fields.

    The ids in a place without a job, in two places with these, and of a key that is no hash.
    """
    server = tested.server
    # First the hashes: a job that is removed now leaves its place in the same moment.
    ids = list(strange)
    hashes = await server.ask_fields([["HMGET", _key(tested, id), *_FIELDS] for id in ids])
    jobs = {id: fields for id, fields in zip(ids, hashes, strict=True) if any(field is not None for field in fields)}
    ids = list(unseen)
    kinds = dict(zip(ids, await server.ask_all([["TYPE", _key(tested, id)] for id in ids]), strict=True))
    dead = {id for id, kind in kinds.items() if kind == b"none"}
    odd = {id for id, kind in kinds.items() if kind not in (b"none", b"hash")}
    places = await places_of(tested, {*jobs, *dead, *twice})
    lost = {id: fields for id, fields in jobs.items() if not places[id]}
    return lost, {id for id in dead if places[id]}, {id: places[id] for id in twice if len(places[id]) > 1}, odd


def _key(tested: QueueUnderTest, id: bytes) -> bytes:
    return tested.key("").encode() + id
