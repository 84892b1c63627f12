"""Private servers of other processes, for a hint: what is in them is not seen here."""

import os
from pathlib import Path

from bullrush.embedded.directory import LOCK
from bullrush.embedded.probe import ping
from bullrush.embedded.scratch import PREFIX, SOCKET, scratch_folder

#: After so many the hint is clear, and starting must stay quick.
_MOST = 10


def private_servers(*, beside: str) -> int:
    """Count the servers in memory that other processes of this user run now, at most 10.

    Only those on unix sockets are found; these are the ones that ``embedded://`` starts.

    Args:
        beside: the URL of the server that is not counted.
    """
    if not hasattr(os, "getuid"):
        return 0
    found = 0
    for socket in Path(scratch_folder()).glob(f"{PREFIX}*/{SOCKET}"):
        try:
            # The others keep their data, and so their lock, in a directory that was given.
            ours = socket.stat().st_uid == os.getuid() and (socket.parent / LOCK).exists()
        except OSError:  # it has just ended
            continue
        if ours and beside != f"unix://{socket}" and ping(f"unix://{socket}") == b"+PONG":
            found += 1
            if found == _MOST:
                break
    return found
