"""The end of a process by force: its jobs go back to their queues.

It also ends a process that Python cannot end: a handler may hold the GIL, and then no signal handler of Python runs.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Final, NoReturn

from bullrush._core import exit_after_signals, give_back_held
from bullrush.base.repeated_signals import TOGETHER

#: Seconds that Python has to end by itself before it is ended.
GRACE: Final = 0.7
#: Seconds after it in which jobs are given back, if Redis answers.
GIVING_BACK: Final = 0.3


def end_process(code: int) -> NoReturn:
    """End the process now. The jobs of its workers run again, on any worker: no attempt of them has failed.

    They go back in the last moment: a handler that went on would run beside the next one of its job.
    """
    try:
        give_back_held(round(GIVING_BACK * 1000))
    finally:
        os._exit(code)


def set_up(shutdown_timeout: float | None, code: int) -> None:
    """From now on SIGTERM and SIGINT end the process in time: after the second one, or after ``shutdown_timeout``.

    Call it on the main thread, once.

    Args:
        shutdown_timeout: seconds after the first signal; None is no limit.
        code: the exit code.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    first = None if shutdown_timeout is None else round((shutdown_timeout + GRACE) * 1000)
    exit_after_signals(reading, first, round(GRACE * 1000), round(TOGETHER * 1000), round(GIVING_BACK * 1000), code)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_forget)


def _forget() -> None:
    """Keep the signals of a forked child from counting as ours."""
    with contextlib.suppress(ValueError):
        signal.set_wakeup_fd(-1)
