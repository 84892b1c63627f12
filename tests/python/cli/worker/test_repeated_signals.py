"""A SIGTERM that comes twice counts once, wherever it is handled."""

import argparse
import signal
import subprocess
import sys
from typing import Any

import pytest

from bullrush.base import repeated_signals
from bullrush.cli.worker.processes.supervisor import Supervisor
from bullrush.cli.worker.serve import Process
from bullrush.worker.running.signals import _Signals

OPTIONS = argparse.Namespace(
    processes=0,
    reload=False,
    burst=False,
    max_jobs=None,
    health_port=None,
    shutdown_timeout=None,
    targets=[],
    queues=[],
)


class Run:
    """Notes how it was closed."""

    def __init__(self) -> None:
        self.closed: list[bool] = []

    def begin_close(self, _timeout_ms: int | None = None, *, force: bool = False) -> None:
        self.closed.append(force)


def by_worker() -> tuple[Any, list[Any]]:
    signals, run = _Signals(), Run()
    signals._runs.append(run)
    return signals._close, run.closed


def by_command() -> tuple[Any, list[Any]]:
    process, orders = Process([], OPTIONS), []
    process._orders = argparse.Namespace(put=orders.append)  # type: ignore[assignment]
    return process._signalled, orders


def by_supervisor() -> tuple[Any, list[Any]]:
    supervisor, steps = Supervisor(OPTIONS), []
    supervisor._steps = argparse.Namespace(put=steps.append)  # type: ignore[assignment]
    return supervisor._signalled, steps


@pytest.mark.parametrize("handler", [by_worker, by_command, by_supervisor])
def test_a_sigterm_within_200_ms_of_another_one_counts_as_that_one(handler, monkeypatch) -> None:
    signalled, acted = handler()
    now = [50.0]
    monkeypatch.setattr(repeated_signals, "time", argparse.Namespace(monotonic=lambda: now[0]))
    signalled(signal.SIGTERM, None)
    now[0] += 0.19
    signalled(signal.SIGTERM, None)
    assert len(acted) == 1
    now[0] += 0.02
    signalled(signal.SIGTERM, None)
    assert len(acted) == 2


def test_two_quick_ctrl_c_are_two() -> None:
    signalled, closed = by_worker()
    signalled(signal.SIGINT, None)
    signalled(signal.SIGINT, None)
    assert closed == [False, True]


def test_the_last_resort_counts_a_repeated_sigterm_once() -> None:
    program = """
import os, time
from bullrush._core import exit_after_signals
reading, writing = os.pipe()
exit_after_signals(reading, None, 1, 100, 50, 4)
os.write(writing, bytes([15, 15]))
time.sleep(0.3)
print("alive", flush=True)
os.write(writing, bytes([15]))
time.sleep(20)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.returncode) == ("alive\n", 4)
