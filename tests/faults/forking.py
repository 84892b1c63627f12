"""Runs a function in a forked child, as PySpark's daemon runs its tasks, and returns its result."""

import os
import pickle
import select
import signal
import traceback
from collections.abc import Callable
from typing import Any


class Child:
    """A forked process that runs one function and ends, without the parent's exit handlers."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(writing)
            return
        try:
            outcome = (function(), None)
        except BaseException as error:
            outcome = (None, f"{error!r}\n{traceback.format_exc()}")
        os.write(writing, pickle.dumps(outcome))
        os._exit(0)

    def result(self, seconds: float = 20) -> Any:
        """Return what the function returned; fail when it raised or hangs."""
        try:
            answered, _, _ = select.select([self._reading], [], [], seconds)
            if not answered:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"the child hangs for {seconds} s")
            with os.fdopen(self._reading, "rb", closefd=False) as pipe:
                value, error = pickle.loads(pipe.read())
        finally:
            os.waitpid(self.pid, 0)
            os.close(self._reading)
        assert error is None, error
        return value


def in_child(function: Callable[[], Any]) -> Any:
    """Return what a function returns in a forked child."""
    return Child(function).result()
