"""Where the files of a round are."""

import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
#: What a round may need.
BYTES = 4 << 30


def new_folder() -> Path:
    """Return a folder in memory, if the machine has enough: a process that is killed loses none of its files.

    Servers sync their log with each write. On a disk that others use, too, they would wait for it most of the time.
    """
    has_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > BYTES
    return Path(tempfile.mkdtemp(prefix="faults-", dir=MEMORY if has_room else None))
