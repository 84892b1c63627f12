"""What servers that were killed together with their owners have left in the folder for temporary files."""

import os
from pathlib import Path

from bullrush.embedded.directory import LOCK, is_locked
from bullrush.embedded.private import open_private
from bullrush.embedded.scratch import PREFIX, scratch_folder

_OWNER = ".owner"


def own(scratch: Path) -> None:
    """Note that this process needs a directory for temporary files, also while its server is down."""
    with open(open_private(scratch / _OWNER, os.O_WRONLY | os.O_CREAT), "w") as file:
        file.write(str(os.getpid()))


def left_directories() -> tuple[Path, ...]:
    """Return the directories for temporary files whose server, in memory, was killed together with its owner.

    Only those of this user are found.
    """
    if os.name == "nt":
        return ()
    return tuple(scratch for scratch in sorted(Path(scratch_folder()).glob(f"{PREFIX}*")) if _is_left(scratch))


def _is_left(scratch: Path) -> bool:
    owner = scratch / _OWNER
    try:
        # A server that keeps its data elsewhere has its lock there, and may have other users.
        if scratch.stat().st_uid != os.geteuid() or not (scratch / LOCK).exists() or is_locked(scratch):
            return False
        os.kill(int(owner.read_text()), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False  # it has just ended, or is just being written, or somebody else runs
    return False
