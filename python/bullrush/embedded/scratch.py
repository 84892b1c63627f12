"""The folder in which servers have their sockets, logs and, in memory, their locks."""

import os
import tempfile

PREFIX = "bullrush-"
SOCKET = "redis.sock"
_LONGEST_SOCKET_PATH = 100  # the kernel's limit is 104 to 108 bytes
#: A name that `tempfile` makes, of the prefix and 8 characters, and the socket in it.
_REST = len(f"/{PREFIX}12345678/{SOCKET}")


def scratch_folder() -> str:
    """Return the folder for temporary files, or a shorter one if a socket in it would have too long a path."""
    given = tempfile.gettempdir()
    others = (os.environ.get("XDG_RUNTIME_DIR", ""), "/tmp", "/var/tmp")
    return next((folder for folder in (given, *others) if _fits(folder)), given)


def fits_socket(scratch: str) -> bool:
    """Tell whether a directory can have a socket."""
    return os.name != "nt" and len(os.fsencode(os.path.join(scratch, SOCKET))) <= _LONGEST_SOCKET_PATH


def _fits(folder: str) -> bool:
    return 0 < len(os.fsencode(folder)) <= _LONGEST_SOCKET_PATH - _REST and os.access(folder, os.W_OK | os.X_OK)
