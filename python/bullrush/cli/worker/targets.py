"""Turns the targets of the command, ``module:object``, into workers."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from bullrush.cli.terminal.ending import USAGE, CommandError
from bullrush.cli.worker.pool import Pool
from bullrush.cli.worker.queues import QueueChoice
from bullrush.errors import BullrushError
from bullrush.extending import Lane, RunCalls
from bullrush.masking import masked
from bullrush.worker import Worker, WorkerOptions

#: A `Worker` or an `aio.Worker`.
AnyWorker: TypeAlias = RunCalls[Any]


class TargetError(CommandError):
    """A target cannot be run. The text says why, and what to write."""

    def __init__(self, message: str) -> None:
        super().__init__(message, USAGE)


def find_workers(options: argparse.Namespace) -> list[AnyWorker]:
    """Import the targets and return their workers. Several queues of a function or dict share one.

    Raises:
        TargetError: a target cannot be imported or run, or a queue has no target.
    """
    found = [(target, import_target(target)) for target in options.targets]
    asked: dict[str, QueueChoice] = {queue.name: queue for queue in options.queues}
    workers: list[AnyWorker] = []
    handlers = []
    pooled = _pooled(found, asked)
    for target, thing in found:
        if isinstance(thing, RunCalls):
            workers.append(_own(target, thing, options))
        elif _is_list(thing):
            workers += [_own(target, one, options) for one in thing]
        elif target in pooled:
            if target == next(iter(pooled)):
                workers.append(_of_pool(pooled, options, asked))
        elif _is_registry(thing):
            workers.append(_made(target, options, thing.queue, thing))
        elif callable(thing) or (isinstance(thing, Mapping) and thing):
            handlers.append((target, thing))
        elif isinstance(thing, Mapping):
            raise TargetError(f"{target} is an empty dict: it needs a function for each name of jobs")
        else:
            raise TargetError(
                f"{target} is a {type(thing).__name__}, not a Tasks, a Worker or a list of them, a function or a dict"
            )
    served = {name for worker in workers for name in worker.queue_names}
    left = [queue for queue in asked if queue not in served]
    if len(handlers) > 1:
        both = " and ".join(target for target, _ in handlers)
        raise TargetError(f"{both} are functions or dicts: give one of them, or make a Tasks or Workers of them")
    for target, thing in handlers:
        if not left:
            raise TargetError(f"{target} is a {type(thing).__name__}: name its queue, such as -Q mail")
        workers.append(_shared(target, options, [asked[queue] for queue in left], thing))
    if left and not handlers:
        raise TargetError(f"no target has the queue {left[0]!r}; there are: {', '.join(sorted(served))}")
    return [_limited(worker, options, asked) for worker in workers if not asked or set(worker.queue_names) & set(asked)]


def import_target(target: str) -> Any:
    """Return the object ``module:object``. The current directory is on the path.

    Raises:
        TargetError: it cannot be imported.
    """
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    if "://" in target:
        raise TargetError(f"{masked(target)} is no import path: a URL is given with --url")
    name, _, path = target.partition(":")
    if "/" in name or name.startswith("."):
        raise TargetError(f"{name!r} is no module: write its import path, such as app.jobs for app/jobs.py")
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise TargetError(f"there is no module {error.name!r} in {os.getcwd()} or on the Python path") from None
        raise TargetError(_failed(name)) from error
    except (Exception, SystemExit) as error:
        raise TargetError(_failed(name)) from error
    thing: Any = module
    for part in path.split("."):
        try:
            thing = getattr(thing, part)
        except AttributeError:
            known = [key for key, value in vars(module).items() if _has_workers(value)]
            hint = f"; it has {', '.join(f'{name}:{key}' for key in known)}" if known else ""
            raise TargetError(f"the module {name!r} has no {path!r}{hint}") from None
    return thing


def _is_registry(thing: Any) -> bool:
    return callable(getattr(thing, "routes", None)) and isinstance(getattr(thing, "queue", None), str)


def _pooled(found: Sequence[tuple[str, Any]], asked: Mapping[str, QueueChoice]) -> dict[str, Any]:
    """Return the registries that share a worker, by their targets: those that ``-Q`` names, if it gives a weight."""
    named = {target: thing for target, thing in found if _is_registry(thing) and thing.queue in asked}
    has_weights = any(asked[thing.queue].weight is not None for thing in named.values())
    return named if has_weights and len(named) > 1 else {}


def _of_pool(pooled: Mapping[str, Any], options: argparse.Namespace, asked: Mapping[str, QueueChoice]) -> Worker:
    """Return one worker of these registries, whose queues share its slots."""
    targets = " and ".join(pooled)
    if _profile_of(options):
        raise TargetError(
            f"{targets}: a worker with a profile serves one queue and its routes: leave out the weights of -Q"
        )
    for target, registry in pooled.items():
        if hasattr(registry, "import_path"):
            registry.import_path = target
    try:
        pool = Pool(pooled)
    except BullrushError as error:
        raise TargetError(str(error)) from error
    worker = _made(targets, options, pool.queue, pool)
    worker.serve(_lanes([asked[registry.queue] for registry in pooled.values()]))
    return worker


def _lanes(queues: Sequence[QueueChoice]) -> list[Lane]:
    return [Lane(queue.name, queue.weight or 1, queue.concurrency) for queue in queues]


def _has_workers(thing: object) -> bool:
    is_source = hasattr(thing, "routes") and not isinstance(thing, type)
    return is_source or isinstance(thing, RunCalls) or _is_list(thing)


def _is_list(thing: object) -> bool:
    """Tell whether this is a list of workers."""
    return isinstance(thing, list) and bool(thing) and all(isinstance(one, RunCalls) for one in thing)


def _failed(name: str) -> str:
    return f"the module {name!r} cannot be imported\n{traceback.format_exc()}".rstrip()


def _own(target: str, worker: AnyWorker, options: argparse.Namespace) -> AnyWorker:
    given = [f"--{name}" for name in ("url", "prefix") if getattr(options, name) is not None]
    if given:
        raise TargetError(f"{target} is a Worker, which has its own address: {' and '.join(given)} cannot change it")
    if _profile_of(options):
        raise TargetError(
            f"{target} is a Worker, which has its own options: give it the profile, Worker(..., profile=...)"
        )
    if getattr(options, "name", None) is not None:
        raise TargetError(f"{target} is a Worker, which has its own options: give it the name, Worker(..., name=...)")
    if worker.is_running():
        raise TargetError(f"{target} runs already: remove autorun=True")
    return worker


def _profile_of(options: argparse.Namespace) -> WorkerOptions:
    """Return the options about routes. The command of Django has none: its workers are made by the settings."""
    given: WorkerOptions = {}
    if getattr(options, "profile", None) is not None:
        given["profile"] = options.profile
    if getattr(options, "routes_only", False):
        given["routes_only"] = True
    return given


def _made(target: str, options: argparse.Namespace, queue: str, thing: Any) -> Worker:
    given: WorkerOptions = {}
    for name in ("url", "prefix"):
        if (value := getattr(options, name)) is not None:
            given[name] = value
    if options.name is not None:
        given["name"] = options.name
    given.update(_profile_of(options))
    try:
        if hasattr(thing, "routes"):
            if hasattr(thing, "import_path"):
                thing.import_path = target
            return Worker(thing, **given)
        return Worker(queue, thing, **given)
    except BullrushError as error:
        raise TargetError(f"{target}: {error}") from error


def _shared(target: str, options: argparse.Namespace, queues: Sequence[QueueChoice], thing: Any) -> Worker:
    """Return one worker of all these queues, which share its slots."""
    worker = _made(target, options, queues[0].name, thing)
    if len(queues) > 1:
        if worker.profile is not None:
            raise TargetError(
                f"{target}: a worker with a profile serves one queue and its routes: start the command once for each -Q"
            )
        for queue in queues[1:]:
            _made(target, options, queue.name, thing)  # checks the name
        worker.serve(_lanes(queues))
    return worker


def _limited(worker: AnyWorker, options: argparse.Namespace, asked: Mapping[str, QueueChoice]) -> AnyWorker:
    queues = [asked[name] for name in worker.queue_names if name in asked]
    if len(queues) > 1:
        worker.concurrency = options.concurrency or sum(queue.concurrency or 1 for queue in queues)
        return worker
    for queue in queues:
        if queue.weight is not None:
            raise TargetError(
                f"-Q {queue}: a weight is for queues that share a worker, and {queue.name} has its own: give it slots "
                f"instead, -Q {queue.name}=N. Queues of one function, and registries that -Q names, share one"
            )
    concurrency = (queues and queues[0].concurrency) or options.concurrency
    if concurrency is not None:
        worker.concurrency = concurrency
    return worker
