"""Workers: they take jobs, run handlers and report the results."""

from bullrush.worker.monitoring.health import WorkerHealth
from bullrush.worker.monitoring.scripts import ScriptTimes
from bullrush.worker.options import BatchHandler, Handler, LimiterOptions, MetricsOptions, WorkerOptions
from bullrush.worker.routes import HandlerSource, Route
from bullrush.worker.running.run import RunStats
from bullrush.worker.worker import Worker

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
