"""Faults that happen while a call runs, at a state and not at a time."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from signal import SIGCONT, SIGKILL, Signals

import psutil

from tests.waiting import wait_until


@contextmanager
def striking(
    *strikes: tuple[Callable[[], object], Callable[[], list[psutil.Process]]], signal: Signals = SIGKILL
) -> Iterator[None]:
    """Kill a process each time a condition becomes true during the block, one strike after the other.

    The block fails if it ends before the last strike: then it has shown nothing.

    Args:
        strikes: conditions, and what finds the processes of which the first is struck.
        signal: what it gets. A process that SIGSTOP stops goes on after the block, if it still is there.
    """
    struck: list[int] = []
    ended = threading.Event()

    def strike() -> None:
        for condition, find in strikes:
            wait_until(lambda condition=condition: ended.is_set() or condition(), "the state to strike at", 120)
            while not ended.is_set():
                if victims := find():
                    with suppress(ProcessLookupError):  # it has just ended: the next one
                        os.kill(victims[0].pid, signal)
                        struck.append(victims[0].pid)
                        break

    thread = threading.Thread(target=strike, name="strikes")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        for pid in struck:
            with suppress(ProcessLookupError):
                os.kill(pid, SIGCONT)
    assert len(struck) == len(strikes), f"ended after {len(struck)} of {len(strikes)} strikes"
