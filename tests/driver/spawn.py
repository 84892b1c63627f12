"""Starts processes that the kernel kills when the tests end, in whatever way."""

import ctypes
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_C = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
#: The kernel sends the signal when the thread ends that started the process, so one thread starts all and never ends.
_starter = ThreadPoolExecutor(1, "starter")


def spawn(command: list[str], **how: Any) -> "subprocess.Popen[bytes]":
    """Start a process; the arguments are those of `subprocess.Popen`."""
    return _starter.submit(subprocess.Popen, command, preexec_fn=_dies_with_us, **how).result()


def _dies_with_us() -> None:
    _C.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
