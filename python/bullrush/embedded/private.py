"""Directories and files that nobody else on this machine may read or have prepared.

Another user can put a lock file into a directory that names a server of theirs, or a link in the place of a file, so
that the file it leads to is written.
"""

import errno
import os
import stat
from pathlib import Path

_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class NotPrivateError(RuntimeError):
    """A directory or a file belongs to another user, or others may have written it."""


def make_private(directory: Path, known: str) -> None:
    """Make a directory for this user alone, or check one that is there.

    Args:
        directory: the directory. A new or empty one, and one that has been used before, gets the mode 0700.
        known: a file that a directory has which has been used before.

    Raises:
        NotPrivateError: it is another user's, or others may write to it and there is something in it.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "nt":
        return
    found, user = directory.stat(), os.geteuid()
    # Others can put a link to a directory of this user where all may write, such as /tmp.
    link_of = directory.lstat().st_uid
    if found.st_uid != user or link_of not in {user, 0}:
        raise NotPrivateError(f"{directory} is not of the user {user}, who runs this program: name another directory")
    is_empty = not any(directory.iterdir())
    if found.st_mode & _WRITE and not is_empty:
        raise NotPrivateError(
            f"other users may have written to {directory}: look what is in it and run 'chmod 700 {directory}', or "
            "name another directory"
        )
    if found.st_mode & _OTHERS and (is_empty or os.path.lexists(directory / known)):
        directory.chmod(0o700)


def open_private(path: Path, flags: int) -> int:
    """Open a file, which gets the mode 0600 if it is new; return its descriptor.

    Raises:
        FileNotFoundError: there is none, and the flags do not create it.
        NotPrivateError: it is a link or something else than a file, or another user's.
    """
    if os.name == "nt":
        return os.open(path, flags, 0o600)
    not_ours = f"{path} is not a file of the user {os.geteuid()}, who runs this program: remove it"
    try:
        # Without O_NONBLOCK a named pipe would wait for its other end.
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except PermissionError:
        raise NotPrivateError(not_ours) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotPrivateError(f"{path} is a symbolic link, which is not followed: remove it") from None
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(descriptor)
        raise NotPrivateError(not_ours)
    return descriptor
