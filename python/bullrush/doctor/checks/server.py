"""BR002 to BR008 and BR012: the server and its settings."""

from __future__ import annotations

from typing import Final

from bullrush.doctor.finding import Finding, NotCheckedError, counted
from bullrush.doctor.reading import Server
from bullrush.errors import RedisServerError
from bullrush.extending import now_ms, reply

#: Parts of the memory, and of the connections, from which on it is called full.
_FULL: Final = 0.85
_MANY: Final = 0.8
#: ms between two clocks that nobody notices.
_SKEW: Final = 2_000
_LOOKS: Final = 3
_MEGABYTE: Final = 1 << 20


async def role(server: Server) -> list[Finding]:
    """BR002: a replica refuses to write."""
    if (await server.info()).get("role") == "slave":
        return [Finding("BR002", "INFO says role:slave")]
    return []


async def eviction(server: Server) -> list[Finding]:
    """BR003: with any policy but one Redis removes keys of jobs."""
    info = await server.info()
    policy = info.get("maxmemory_policy", "noeviction")
    if policy == "noeviction":
        return []
    limit = _number(info, "maxmemory")
    when = f"as soon as {_megabytes(limit)} are used" if limit else "as soon as maxmemory is set"
    return [Finding("BR003", f"maxmemory-policy is {policy}: keys go {when}")]


async def persistence(server: Server) -> list[Finding]:
    """BR004 and BR005: is anything written to disk, and did it succeed?"""
    info = await server.info()
    states = {
        "aof_last_write_status": "the AOF could not be written",
        "aof_last_bgrewrite_status": "the AOF could not be rewritten",
        "rdb_last_bgsave_status": "the last snapshot failed",
    }
    failed = [text for name, text in states.items() if info.get(name, "ok") != "ok"]
    found = [Finding("BR005", "; ".join(failed))] if failed else []
    if "aof_enabled" not in info or info["aof_enabled"] == "1":
        return found
    try:
        saves = await server.ask("CONFIG", "GET", "save")
    except RedisServerError:
        # Managed servers refuse it, and have backups of their own.
        if found:
            return found
        raise NotCheckedError("appendonly is no, and CONFIG GET save is refused") from None
    if len(saves) > 1 and not saves[1]:
        found.append(Finding("BR004", "appendonly is no, and there are no snapshots (save is empty)"))
    return found


async def memory(server: Server) -> list[Finding]:
    """BR006: how much may still be written?"""
    info = await server.info()
    used, limit = _number(info, "used_memory"), _number(info, "maxmemory")
    what = "maxmemory"
    if not limit:
        limit, what = _number(info, "total_system_memory"), "the machine's memory"
    if not limit or used < limit * _FULL:
        return []
    return [Finding("BR006", f"{_megabytes(used)} of {_megabytes(limit)} ({what}) are used")]


async def clock(server: Server) -> list[Finding]:
    """BR007: does this machine's clock agree with that of the server?"""
    skews = []
    for _ in range(_LOOKS):
        before = now_ms()
        ((seconds, micros),) = await reply(server.core.commands([["TIME"]]))
        after = now_ms()
        server_time = int(seconds) * 1_000 + int(micros) // 1_000
        # The server looked at its clock at some moment in between.
        skews.append(max(before - server_time, server_time - after, 0))
    if min(skews) < _SKEW:
        return []
    return [Finding("BR007", f"they differ by {min(skews) / 1_000:,.1f} s")]


async def connections(server: Server) -> list[Finding]:
    """BR008: may further clients connect?"""
    info = await server.info()
    connected, most = _number(info, "connected_clients"), _number(info, "maxclients")
    if not most:
        try:
            most = int((await server.ask("CONFIG", "GET", "maxclients"))[1])
        except (RedisServerError, IndexError, ValueError):
            raise NotCheckedError("maxclients is not known: INFO does not tell it, and CONFIG GET is refused") from None
    if connected < most * _MANY:
        return []
    return [Finding("BR008", f"{connected:,} of {most:,} connections are open")]


async def replicas(server: Server) -> list[Finding]:
    """BR012: has it as many replicas as it wants for a write?"""
    info = await server.info()
    # Redis tells the number only if it wants some.
    if "min_slaves_good_slaves" not in info:
        return []
    good = _number(info, "min_slaves_good_slaves")
    try:
        wanted = int((await server.ask("CONFIG", "GET", "min-replicas-to-write"))[1])
    except (RedisServerError, IndexError, ValueError):
        if good:
            have = f"min-replicas-to-write is not known, since CONFIG GET is refused; the server has {_ready(good)}"
            raise NotCheckedError(have) from None
        wanted = 1
    if good >= wanted:
        return []
    return [Finding("BR012", f"min-replicas-to-write wants at least {wanted:,}, and the server has {_ready(good)}")]


def _ready(count: int) -> str:
    return f"{counted(count, 'replica')} that {'is' if count == 1 else 'are'} connected and up to date"


def _number(info: dict[str, str], name: str) -> int:
    text = info.get(name, "")
    return int(text) if text.isdigit() else 0


def _megabytes(size: int) -> str:
    return f"{size / _MEGABYTE:,.0f} MB"
