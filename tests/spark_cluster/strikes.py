"""Faults that happen while a call runs, at a state and not at a time."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

from tests.waiting import wait_until


@contextmanager
def striking(*strikes: tuple[Callable[[], object], Callable[[], list[psutil.Process]]]) -> Iterator[list[int]]:
    """Kill a process each time a condition becomes true during the block, one strike after the other.

    The block fails if it ends before the last strike: then it has shown nothing.

    Args:
        strikes: conditions, and what finds the processes of which the first is killed.
    """
    killed: list[int] = []
    ended = threading.Event()

    def strike() -> None:
        for condition, find in strikes:
            wait_until(lambda condition=condition: ended.is_set() or condition(), "the state to strike at", 120)
            while not ended.is_set():
                if victims := find():
                    os.kill(victims[0].pid, signal.SIGKILL)
                    killed.append(victims[0].pid)
                    break

    thread = threading.Thread(target=strike, name="strikes")
    thread.start()
    try:
        yield killed
    finally:
        ended.set()
        thread.join()
    assert len(killed) == len(strikes), f"ended after {len(killed)} of {len(strikes)} strikes"
