"""Looking at queues and jobs without changing them: what is due, why a job does not run, which failures are one."""

from bullrush.base.due import SECOND_LOOK, DueWork, due_work
from bullrush.inspection.chains import CHAIN_FIELDS, job_due, latest_job, stopped, why_stopped
from bullrush.inspection.coming_runs import coming_runs, run_before
from bullrush.inspection.failures import FailureGroup, error_type_of, failure_of
from bullrush.inspection.fingerprint import fingerprint
from bullrush.inspection.holders import Hold, holds
from bullrush.inspection.listing import count_states
from bullrush.inspection.overview import Overview, overviews
from bullrush.inspection.place import dues_of
from bullrush.inspection.search import AT_ONCE, Searched, SearchPosition
from bullrush.inspection.trace import readable_trace
from bullrush.inspection.where import Where
from bullrush.inspection.why import Why, span
from bullrush.inspection.workers import count_workers

__all__ = [
    "AT_ONCE",
    "CHAIN_FIELDS",
    "SECOND_LOOK",
    "DueWork",
    "FailureGroup",
    "Hold",
    "Overview",
    "SearchPosition",
    "Searched",
    "Where",
    "Why",
    "coming_runs",
    "count_states",
    "count_workers",
    "due_work",
    "dues_of",
    "error_type_of",
    "failure_of",
    "fingerprint",
    "holds",
    "job_due",
    "latest_job",
    "overviews",
    "readable_trace",
    "run_before",
    "span",
    "stopped",
    "why_stopped",
]
