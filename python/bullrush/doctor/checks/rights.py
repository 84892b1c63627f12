"""BR009: rights of the user that its programs need."""

from __future__ import annotations

from typing import Final

from bullrush.doctor.finding import SHOWN, Finding, NotCheckedError
from bullrush.doctor.reading import Server
from bullrush.extending import reply
from bullrush.rights import hides_others, read_roles

#: Without another choice the user is one who adds and runs jobs.
ROLES: Final = ("producer", "worker")


async def missing(server: Server) -> list[Finding]:
    """BR009: which commands may the user not run?"""
    known = read_roles()
    needed = sorted({command for role in server.roles for command in known[role].needed})
    lacking = await reply(server.handle(server.sample).core.missing_rights(needed))
    if not lacking:
        return []
    words = [word for word in lacking if word.startswith("+")]
    if not words and server.sample == server.queue.name:  # no queue: the user may have the keys of some
        raise NotCheckedError(
            f"no queue is known whose keys could be tried instead of {' '.join(lacking)}; name one with --queue"
        )
    if not words:
        return [Finding("BR009", f"the keys {' '.join(lacking)}")]
    more = f" and {len(words) - SHOWN:,} more" if len(words) > SHOWN else ""
    if hides_others(words):
        return [Finding("BR009", f"at least {words[0]}, without which others cannot be tried", ids=tuple(words))]
    return [Finding("BR009", f"the commands {' '.join(words[:SHOWN])}{more}", ids=tuple(words))]
