"""A call that goes on until a signal comes, and then ends in its own way."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from types import FrameType
from typing import Final, TypeVar

from bullrush.cli.terminal.ending import SIGNAL_WAIT

T = TypeVar("T")

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def until_signal(call: Callable[[], T], close: Callable[[], object]) -> T:
    """Return what a call returns that goes on until `close` is called.

    Args:
        call: runs on a thread of its own, so that the signal finds the main thread waiting.
        close: is called at the first Ctrl-C or SIGTERM. A second one ends the process, as it always does.
    """
    usual = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in usual.items():
            signal.signal(number, handler)

    def closing(_number: int, _frame: FrameType | None) -> None:
        restore()
        close()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(call)
        for number in _SIGNALS:
            signal.signal(number, closing)
        try:
            while not wait([running], SIGNAL_WAIT).done:
                pass
            return running.result()
        finally:
            restore()
