"""Outages of a connection."""

from typing import final

from .pending import Pending

@final
class ConnectionWatch:
    """Reports outages of the connection that all calls of this process and URL share. Does not connect by itself."""

    def __new__(cls, url: str) -> ConnectionWatch: ...
    def next(self) -> Pending[None]:
        """Wait for the next outage, or for `close`.

        Raises:
            ConnectionLostError: there is no connection; raised once per outage.
        """
    def close(self) -> None: ...
