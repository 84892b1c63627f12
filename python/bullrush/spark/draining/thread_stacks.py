"""Threads in a process whose address space is limited, as by ``spark.executor.pyspark.memory``."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: Bytes of a thread's stack. Linux reserves 8 MB by default.
_STACK: Final = 1 << 20
_M_ARENA_MAX: Final = -8


@contextmanager
def limit_thread_stacks() -> Iterator[None]:
    """Make threads that start in the block reserve little memory, if the address space is limited.

    Linux counts reserved memory as well: 8 MB for the stack of each thread, and with glibc 64 MB for its allocations.
    With 512 MB, of which pyarrow takes 400, the fourth thread could not start. Threads share one pool of memory then
    (this stays so in the process), and have stacks of 1 MB (those of the block).
    """
    if not _is_limited():
        yield
        return
    _share_one_pool()
    before = threading.stack_size(_STACK)
    try:
        yield
    finally:
        threading.stack_size(before)


def _is_limited() -> bool:
    try:
        import resource  # not on Windows
    except ImportError:
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _share_one_pool() -> None:
    try:
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    except (OSError, AttributeError):  # not glibc: it has no such pools
        return
