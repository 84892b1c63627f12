"""Ports for servers of tests that are named before they start."""

import random
import socket
from contextlib import suppress

#: The bus of a node of a cluster has its port plus this.
BUS = 10_000


def free_port() -> int:
    """Return a port that is free with its bus, below the range of outgoing connections."""
    while True:
        port = random.SystemRandom().randrange(10_000, 32_000 - BUS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            socket.create_server(("127.0.0.1", port + BUS)).close()
            return port
