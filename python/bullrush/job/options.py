"""The options of a job, for type checkers and editors."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, TypedDict

from bullrush.routing.target import Target
from bullrush.telemetry.protocol import JobTelemetry
from bullrush.values.checks import Duration
from bullrush.values.encoding import JSON

if sys.version_info >= (3, 11):
    from typing import Required
elif TYPE_CHECKING:
    from typing_extensions import Required


class BackoffOptions(TypedDict, total=False):
    """How long a failed job waits before its next attempt.

    Attributes:
        type: ``fixed``, ``exponential`` or the name of a custom strategy; required.
        delay: ms before the next attempt; with ``exponential`` it doubles after each attempt.
        jitter: 0 to 1: which part of the delay is random.
    """

    type: Required[str]
    delay: Duration
    jitter: float


class KeepOptions(TypedDict, total=False):
    """Which finished jobs are kept. Others are removed when a job of the queue finishes.

    Attributes:
        age: keep no job that finished more than this many seconds ago.
        count: keep at most this many of the newest jobs.
        limit: how many jobs to remove at a time.
    """

    age: int | timedelta
    count: int
    limit: int


class ParentOptions(TypedDict):
    """The parent of a job, which waits for it.

    Attributes:
        id: the id of the parent job.
        queue: its queue with the prefix, such as ``bull:video``.
    """

    id: str
    queue: str


class DeduplicationOptions(TypedDict, total=False):
    """Drops a new job while a job with the same deduplication id exists.

    Attributes:
        id: the deduplication id; required.
        ttl: ms after which the id is free again, even if the job has not finished. Without it the id is free when the
            job finishes.
        extend: each dropped job restarts the ``ttl``.
        replace: a new job replaces the old one while that is still delayed.
        keep_last_if_active: while a worker runs the job, the last dropped job is stored and added when the running one
            finishes.
        reschedule: a job that is dropped gives its delay to the old one while that is still delayed.
    """

    id: Required[str]
    ttl: Duration | None
    extend: bool | None
    replace: bool | None
    keep_last_if_active: bool | None
    reschedule: bool | None


class JobOptions(TypedDict, total=False):
    """Options of one job.

    Attributes:
        attempts: how often the job may run in total; 0 and 1 mean once.
        backoff: the wait before the next attempt: ms, or `BackoffOptions`.
        continue_parent_on_failure: when this job fails for good, its parent runs at once, even with other unfinished
            children.
        debounce: BullMQ's older name of ``deduplication``.
        deduplication: see `DeduplicationOptions`.
        delay: ms before the job may run. The latest possible time is 2039-09-07T15:47:35.551Z, a limit of BullMQ's
            format.
        fail_parent_on_failure: when this job fails for good, its parent fails, too.
        ignore_dependency_on_failure: when this job fails for good, its parent no longer waits for it; see
            `Job.get_ignored_children_failures`.
        job_id: a custom id: not a whole number, not ``0`` or starting with ``0:``, and without colons (exactly two are
            allowed, as in BullMQ). If a job with this id exists, nothing is added.
        keep_logs: how many of the last log rows are kept; 100 by default, 0 keeps all.
        lifo: run before the jobs that are waiting; ignored for a job with a priority. `0` is none: with
            ``priority=0, lifo=True`` a job is the very first.
        parent: the parent job, which waits for this one; see `ParentOptions`.
        priority: 1 is the most urgent, 2,097,152 the least; 0 is no priority and runs before all of them.
        remove_dependency_on_failure: when this job fails for good, its parent no longer waits for it.
        remove_on_complete: True removes the completed job; a number keeps that many of the newest; a dict is
            `KeepOptions`.
        remove_on_fail: the same for failed jobs.
        size_limit: the most bytes that the data may have as JSON.
        stack_trace_limit: how many stack traces are kept, the newest ones; all by default.
        target: what the worker must have; see `Target`. The job goes to ``Queue.route(target)``, a queue of its own.
        telemetry: the trace that the job belongs to; ``{"omit_context": True}`` starts a new one.
        timestamp: when the job was added, in ms since 1970; now by default.
        wake: when the job has finished, its worker publishes a message, for ``wait_until_finished(via="notify")``.
    """

    attempts: int | None
    backoff: Duration | BackoffOptions | None
    continue_parent_on_failure: bool | None
    debounce: DeduplicationOptions | None
    deduplication: DeduplicationOptions | None
    delay: Duration | None
    fail_parent_on_failure: bool | None
    ignore_dependency_on_failure: bool | None
    job_id: str | None
    keep_logs: int | None
    lifo: bool | None
    parent: ParentOptions | None
    priority: int | None
    remove_dependency_on_failure: bool | None
    remove_on_complete: bool | int | KeepOptions | None
    remove_on_fail: bool | int | KeepOptions | None
    size_limit: int | None
    stack_trace_limit: int | None
    target: Target | None
    telemetry: JobTelemetry | None
    timestamp: int | None
    wake: bool | None


class NewJob(TypedDict, total=False):
    """One job of `Queue.add_bulk`.

    Attributes:
        name: the kind of job; required.
        data: any JSON value; ``{}`` by default.
        opts: its options; see `JobOptions`.
    """

    name: Required[str]
    data: JSON
    opts: JobOptions
