"""How the command ends: its exit codes, and the end of a process that threads or functions of `atexit` keep."""

from __future__ import annotations

import atexit
import logging
import sys
import threading
import time
from typing import Final, NoReturn

from bullrush.extending import before_joining_threads, hard_exit

#: The exit codes, beside those of all commands.
ENDED: Final = 0
FAILED: Final = 1
#: Jobs were left running.
ABANDONED: Final = 4

#: Seconds that threads, and then functions of `atexit`, may keep the process.
GRACE: Final = 5.0
#: Seconds that each of both has in any case. The last resort comes a little later.
_LEAST: Final = 0.3
#: Seconds after which it is said what keeps the process. Idle threads of pools end sooner.
_NOTICE: Final = 0.5
#: Names of threads in the log.
_MOST_NAMES: Final = 20

_log: Final = logging.getLogger("bullrush.worker")


def leave(code: int) -> NoReturn:
    """End the process now, without waiting for threads. Jobs that were left go back to their queues."""
    try:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:  # nobody may read them any more
        hard_exit.end_process(code)


def leave_in_time(code: int, seconds: float | None = None) -> None:
    """From now on the end of Python takes a short time only; then the process ends anyway.

    Nothing happens if the program goes on. Call it on the main thread.

    Args:
        code: the exit code.
        seconds: what is left of ``--shutdown-timeout``; None is no limit.
    """
    limit = time.monotonic() + (GRACE * 2 if seconds is None else max(_LEAST, seconds))
    watch = _Watch(code, limit)
    # The function that was registered last is called first.
    atexit.register(watch.begin_functions)
    before_joining_threads(watch.leaving.set)


class _Watch:
    """Ends the process in time. Its threads start at once, since a Python that ends may start no further ones."""

    def __init__(self, code: int, limit: float) -> None:
        self._code = code
        self._limit = limit
        #: Python ends now.
        self.leaving = threading.Event()
        #: Functions of `atexit` are called, by the main thread or by this object.
        self._functions_began = threading.Event()
        self._functions_due = threading.Event()
        self._functions_ended = threading.Event()
        for run, name in ((self._run, "bullrush-leaving"), (self._call_functions, "bullrush-atexit")):
            threading.Thread(target=run, name=name, daemon=True).start()

    def begin_functions(self) -> None:
        """Note that functions of `atexit` are called. They are called once."""
        self._functions_began.set()
        if self._functions_due.is_set() and threading.current_thread() is threading.main_thread():
            # The threads that kept it have ended meanwhile. The process ends before this does.
            self._functions_ended.wait(2 * GRACE)

    def _run(self) -> None:
        self.leaving.wait()
        deadline = min(self._limit, time.monotonic() + GRACE)
        time.sleep(max(0.0, min(_NOTICE, deadline - time.monotonic())))
        rest = max(0.0, deadline - time.monotonic())
        if kept := self._what_keeps():
            _log.warning("the workers have stopped, but %s; the process ends in %.1f s without waiting", kept, rest)
        time.sleep(rest)
        if not self._functions_began.is_set():
            self._functions_due.set()
            self._functions_ended.wait(min(GRACE, max(_LEAST, self._limit - time.monotonic())))
        leave(self._code)

    def _call_functions(self) -> None:
        """Call the functions of `atexit`, which the main thread calls only after all other threads have ended."""
        self._functions_due.wait()
        atexit._run_exitfuncs()
        self._functions_ended.set()

    def _what_keeps(self) -> str:
        if self._functions_began.is_set():
            return "a function of atexit still runs"
        names = [thread.name for thread in threading.enumerate() if _keeps(thread)]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return f"threads that are not daemons still run: {', '.join(names[:_MOST_NAMES])}{more}" if names else ""


def _keeps(thread: threading.Thread) -> bool:
    return thread.is_alive() and not thread.daemon and thread is not threading.main_thread()
