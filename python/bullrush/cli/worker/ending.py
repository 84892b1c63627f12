"""The exit codes of the command, beside those of all commands."""

from typing import Final

ENDED: Final = 0
FAILED: Final = 1
#: Jobs were left running.
ABANDONED: Final = 4
