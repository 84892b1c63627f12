"""Outages of a connection."""

from typing import final

from .pending import Pending

@final
class ConnectionWatch:
    """Reports outages of the connection that all calls of this process and URL share. Does not connect by itself.

    Args:
        beginning: of the keys that the calls are about: on a cluster each slot has its own connection.
    """

    def __new__(cls, url: str, beginning: str) -> ConnectionWatch: ...
    def next(self) -> Pending[None]:
        """Wait for the next outage, or for `close`.

        Raises:
            ConnectionLostError: there is no connection; raised once per outage.
        """
    def close(self) -> None: ...
