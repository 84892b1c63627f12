"""The server of the command: one process, one socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence

import uvicorn
from starlette.types import ASGIApp

from bullrush.dashboard.history import Recording


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Args:
        host: a name or an address of this machine.
        port: the port; 0 is one that is free.

    Raises:
        OSError: the name is not known, or the port is taken.
    """
    family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def serve(
    app: ASGIApp, listening: socket.socket, recordings: Sequence[Recording], on_start: Callable[[], None]
) -> None:
    """Answer requests until a signal ends the process.

    Args:
        app: what answers.
        listening: the socket.
        recordings: what records meanwhile.
        on_start: called before the first request is answered.
    """
    config = uvicorn.Config(
        app, lifespan="off", ws="none", log_level="warning", access_log=False, server_header=False, proxy_headers=False
    )
    on_start()
    for recording in recordings:
        recording.start()
    _Server(config, recordings).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Ends the recording, too: when it has ended itself, it lets the signal end the process."""

    def __init__(self, config: uvicorn.Config, recordings: Sequence[Recording]) -> None:
        super().__init__(config)
        self._recordings = recordings

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer the requests that have come, and write what was recorded."""
        await super().shutdown(sockets)
        await asyncio.gather(*(asyncio.to_thread(recording.stop) for recording in self._recordings))
