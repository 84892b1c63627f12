"""What commands cost the servers, as they count it themselves."""

from __future__ import annotations

from typing import NamedTuple

from bullrush.doctor.nodes import Nodes


class Cost(NamedTuple):
    """What a command has cost since its server was started.

    Attributes:
        calls: how often it ran, also in scripts.
        microseconds: how long it kept the server busy; of a script with all that it calls.
    """

    calls: int
    microseconds: int


class Costs:
    """Reads what commands have cost, of all masters together. All clients are counted."""

    def __init__(self, url: str, prefix: str, timeout: int) -> None:
        """Take where the queues are."""
        self._nodes = Nodes(url, prefix, timeout)
        self._are_known = False

    async def read(self) -> dict[str, Cost]:
        """Return the cost of each command so far; awaited inside an operation.

        Raises:
            RedisServerError: the user may not ask for it.
        """
        if not self._are_known:
            await self._nodes.find()
            self._are_known = True
        found: dict[str, Cost] = {}
        for server in self._nodes.servers:
            for line in (await server.ask("INFO", "commandstats")).decode(errors="replace").splitlines():
                name, _, stats = line.removeprefix("cmdstat_").partition(":")
                if not stats or name == "info":  # which is our own question
                    continue
                values = dict(one.split("=", 1) for one in stats.split(",") if "=" in one)
                calls, microseconds = found.get(name, (0, 0))
                found[name] = Cost(calls + int(values["calls"]), microseconds + int(values["usec"]))
        return found
