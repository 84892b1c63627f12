"""How a command ends: its exit code, and one line instead of a stack trace for errors that are expected."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Final

from bullrush.cli.terminal.visible import visible
from bullrush.errors import (
    BullrushError,
    ConnectionLostError,
    DataError,
    InvalidOptionError,
    LegacyQueueError,
    OutcomeUnknownError,
    QueueNameError,
    RedisServerError,
    RedisVersionError,
)

#: Seconds of one wait of the main thread. The kernel may give a signal to another thread, as after SIGSTOP and SIGCONT.
#: Its handler runs on the main thread, which no such signal wakes.
SIGNAL_WAIT: Final = 0.2
FAILED: Final = 1
USAGE: Final = 2
NO_REDIS: Final = 3
#: As shells count: 128 and the number of the signal.
_INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141
_UNWRITABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})

_USAGE: Final = (InvalidOptionError, QueueNameError, DataError)
_NO_REDIS: Final = (ConnectionLostError, OutcomeUnknownError, RedisServerError, RedisVersionError, LegacyQueueError)


class CommandError(Exception):
    """A command cannot do what it was asked for.

    Attributes:
        code: the exit code.
    """

    def __init__(self, message: str, code: int = FAILED) -> None:
        """Take the text for the user."""
        super().__init__(message)
        self.code = code


def guarded(run: Callable[[], int], name: str) -> int:
    """Run a command and return its exit code. Expected errors become one line on stderr."""
    try:
        code = run()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone, as `head` does. Without this, Python would complain when it flushes stdout at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (BullrushError, CommandError) as error:
        sys.stderr.write(visible(f"bullrush {name}: {error}\n"))
        return code_of(error)
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        sys.stderr.write(f"bullrush {name}: {error.strerror}\n")
        # As above: what is left in the buffer cannot be written, either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code


def code_of(error: Exception) -> int:
    """Return the exit code of an expected error."""
    if isinstance(error, CommandError):
        return error.code
    if isinstance(error, _USAGE):
        return USAGE
    return NO_REDIS if isinstance(error, _NO_REDIS) else FAILED
