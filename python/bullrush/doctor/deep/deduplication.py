"""BR207: deduplication ids that nobody will ever free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bullrush.doctor.deep.hashes import scanned
from bullrush.doctor.deep.places import Places
from bullrush.doctor.deep.types import WrongTypes
from bullrush.doctor.finding import Finding, counted
from bullrush.doctor.reading import Server, texts

_PART: Final = b"de:"
_NO_END: Final = -1


async def held_for_ever(server: Server, queues: Mapping[str, Places], wrong: WrongTypes) -> list[Finding]:
    """BR207: without a time to live a deduplication id is free again when its job ends; but that job does not exist.

    Redis: SCAN over the whole database, 500 keys per call.
    """
    start = f"{server.prefix}:".encode()
    found: dict[bytes, list[bytes]] = {name.encode(): [] for name in queues}
    known = {name.encode(): places.of for name, places in queues.items()}
    async for page in scanned(server, f"{server.prefix}:", "string"):
        for key in page:
            name, _, part = key[len(start) :].partition(b":")
            if name in found and part.startswith(_PART):
                found[name].append(key)
            elif name in found and part not in known[name]:
                wrong.look(name, part, "string")
    findings = []
    for name, keys in found.items():
        held = await _held(server, start + name + b":", keys)
        # A job that was added meanwhile has a hash now.
        held = await _held(server, start + name + b":", held)
        if held:
            ids = texts(key[len(start + name) + 1 + len(_PART) :] for key in held)
            findings.append(Finding("BR207", counted(len(ids), "id"), name.decode(), ids))
    return findings


async def _held(server: Server, start: bytes, keys: list[bytes]) -> list[bytes]:
    lives = await server.ask_all([["PTTL", key] for key in keys])
    endless = [key for key, life in zip(keys, lives, strict=True) if life == _NO_END]
    owners = await server.ask_all([["GET", key] for key in endless])
    owned = [(key, owner) for key, owner in zip(endless, owners, strict=True) if owner is not None]
    exist = await server.ask_all([["EXISTS", start + owner] for _, owner in owned])
    return [key for (key, _), exists in zip(owned, exist, strict=True) if not exists]
