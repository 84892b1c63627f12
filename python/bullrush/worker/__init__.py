"""Workers: they take jobs, run handlers and report the results."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bullrush.base.first_use import at_first_use
from bullrush.worker.monitoring.scripts import ScriptTimes
from bullrush.worker.options import BatchHandler, Handler, LimiterOptions, MetricsOptions, WorkerOptions
from bullrush.worker.routes import HandlerSource, Route
from bullrush.worker.running.run import RunStats
from bullrush.worker.worker import Worker

if TYPE_CHECKING:
    from bullrush.worker.monitoring.health import WorkerHealth

__all__ = [
    "BatchHandler",
    "Handler",
    "HandlerSource",
    "LimiterOptions",
    "MetricsOptions",
    "Route",
    "RunStats",
    "ScriptTimes",
    "Worker",
    "WorkerHealth",
    "WorkerOptions",
]

__getattr__: Callable[[str], Any] = at_first_use(__name__, {"WorkerHealth": "bullrush.worker.monitoring.health"})
