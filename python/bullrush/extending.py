"""What packages that extend bullrush build on: besides the public names, this module and nothing else.

`bullrush.spark`, `bullrush.tasks`, `bullrush.cli` and the other extras stand on it, so each of them could be a
distribution of its own. See docs/extending.md.
"""

# ruff: noqa: I001 - the imports are grouped by subject

# Calls, written once for classes whose calls block and for those whose calls are awaited.
from bullrush.base.operation import (
    Async,
    Blocking,
    maybe_await,
    operation,
    options_by_name,
    reply,
    run_async,
    run_blocking,
    sleep,
)
from bullrush.base.handle import Handle
from bullrush.base.closing import AsyncContext, BlockingContext
from bullrush.base.signatures import shows_options
from bullrush.base.connected import forget_environment

# Options of a class: one line each, with check, default and text.
from bullrush.base.due import STUCK_AFTER, DueWork
from bullrush.base.options import CallOptions, HandleOptions
from bullrush.values.options import Option, Settings, checked_options, declare_options

# Checks of what a program gives, with one error for each mistake.
from bullrush.values import checks
from bullrush.values.checks import Check, Duration, check_choice
from bullrush.values.naming import (
    check_batch_id,
    check_given_id,
    check_job_id,
    check_job_name,
    check_known,
    check_prefix,
    check_queue_name,
    check_unicode,
    is_key_of_queue,
    is_reserved_id,
    missing_attribute,
    nearest,
    owner_of_key,
)

# JSON, numbers and texts.
from bullrush.values.encoding import JSON, NO_DATA, decode, encode, read_number
from bullrush.values.shown import shown
from bullrush.masks import HIDDEN, Masks, Veil
from bullrush.values.states import FINISHED, STATES

# Typed reads and writes of the compiled core; the methods of `CoreQueue` are those of `Queue.core`.
from bullrush._core import (
    AutoIds,
    CoreQueue,
    CoreReader,
    CoreReading,
    Pending,
    QUEUE_KEYS,
    advance_clock,
    check_cron as check_pattern,
    cron_next,
    json_as_rows,
    key_slot,
    now_ms,
    rows_as_json,
    stop_clock,
)

# Jobs.
from bullrush.job.calls.changes import encode_progress
from bullrush.job.calls.states import JobStates
from bullrush.job.calls.wait_until_finished import JobResultWait
from bullrush.job.context import RUNNING
from bullrush.job.failure import traceback_from_handler
from bullrush.job.fields import JobFields
from bullrush.job.job import AsyncJob, JobCalls
from bullrush.job.kept import KeptCalls, NoRedis, kept_record
from bullrush.job.new_jobs import new_jobs
from bullrush.job.option_compiler import JOB_OPTIONS, OptionCompiler, read_options
from bullrush.job.owner import JobOwner
from bullrush.job.record import GivenRecord
from bullrush.job.row_options import RowColumns, RowOptions, row_plan

# Queues, their routes and their health.
from bullrush.queue.adding import QueueAdding
from bullrush.queue.discovery import Master, QueueScan, find_masters
from bullrush.queue.getters import QueueGetters
from bullrush.queue.inspection import NEWEST_FAILURES
from bullrush.queue.queue import QueueCalls
from bullrush.queue.seen import VERBS, SeenJob, Verb, change_seen, has_moved, seen_jobs
from bullrush.queue.routing.routes import registered_routes

# Flows, schedulers, events.
from bullrush.events.queue_events import QueueEventsCalls
from bullrush.flow.plan import MAX_JOBS, option_compilers, plan_flows
from bullrush.scheduler.options import check_repeat, check_scheduler_id, check_template
from bullrush.scheduler.scheduler import JobSchedulerCalls, SchedulerCalls, read_scheduler

# Workers, their metrics and the end of their process.
from bullrush.worker.run_calls import RunCalls, has_left_jobs
from bullrush.worker.handlers.dispatch import PostponedError, UNKNOWN_DELAY
from bullrush.worker.handlers.signature import is_async
from bullrush.worker.lanes.lane import Lane
from bullrush.worker.logs import missing_rights_text
from bullrush.worker.monitoring.health import monitored_queue
from bullrush.worker.monitoring.prometheus import merged_metrics, without_gauges
from bullrush.worker.options import checked_worker_options
from bullrush.base import hard_exit
from bullrush.base.repeated_signals import RepeatedSignals
from bullrush.base.at_exit import before_joining_threads

__all__ = [
    "FINISHED",
    "HIDDEN",
    "JOB_OPTIONS",
    "JSON",
    "MAX_JOBS",
    "NEWEST_FAILURES",
    "NO_DATA",
    "QUEUE_KEYS",
    "RUNNING",
    "STATES",
    "STUCK_AFTER",
    "UNKNOWN_DELAY",
    "VERBS",
    "Async",
    "AsyncContext",
    "AsyncJob",
    "AutoIds",
    "Blocking",
    "BlockingContext",
    "CallOptions",
    "Check",
    "CoreQueue",
    "CoreReader",
    "CoreReading",
    "DueWork",
    "Duration",
    "GivenRecord",
    "Handle",
    "HandleOptions",
    "JobCalls",
    "JobFields",
    "JobOwner",
    "JobResultWait",
    "JobSchedulerCalls",
    "JobStates",
    "KeptCalls",
    "Lane",
    "Masks",
    "Master",
    "NoRedis",
    "Option",
    "OptionCompiler",
    "Pending",
    "PostponedError",
    "QueueAdding",
    "QueueCalls",
    "QueueEventsCalls",
    "QueueGetters",
    "QueueScan",
    "RepeatedSignals",
    "RowColumns",
    "RowOptions",
    "RunCalls",
    "SchedulerCalls",
    "SeenJob",
    "Settings",
    "Veil",
    "Verb",
    "advance_clock",
    "before_joining_threads",
    "change_seen",
    "check_batch_id",
    "check_choice",
    "check_given_id",
    "check_job_id",
    "check_job_name",
    "check_known",
    "check_pattern",
    "check_prefix",
    "check_queue_name",
    "check_repeat",
    "check_scheduler_id",
    "check_template",
    "check_unicode",
    "checked_options",
    "checked_worker_options",
    "checks",
    "cron_next",
    "declare_options",
    "decode",
    "encode",
    "encode_progress",
    "find_masters",
    "forget_environment",
    "hard_exit",
    "has_left_jobs",
    "has_moved",
    "is_async",
    "is_key_of_queue",
    "is_reserved_id",
    "json_as_rows",
    "kept_record",
    "key_slot",
    "maybe_await",
    "merged_metrics",
    "missing_attribute",
    "missing_rights_text",
    "monitored_queue",
    "nearest",
    "new_jobs",
    "now_ms",
    "operation",
    "option_compilers",
    "options_by_name",
    "owner_of_key",
    "plan_flows",
    "read_number",
    "read_options",
    "read_scheduler",
    "registered_routes",
    "reply",
    "row_plan",
    "rows_as_json",
    "run_async",
    "run_blocking",
    "seen_jobs",
    "shown",
    "shows_options",
    "sleep",
    "stop_clock",
    "traceback_from_handler",
    "without_gauges",
]
