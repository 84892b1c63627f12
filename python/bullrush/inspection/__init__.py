"""Looking at queues and jobs without changing them: what is due, why a job does not run, which failures are one."""

from bullrush.inspection.due import DueWork, due_work
from bullrush.inspection.failures import NEWEST, FailureGroup
from bullrush.inspection.fingerprint import fingerprint
from bullrush.inspection.why import Why, span

__all__ = ["NEWEST", "DueWork", "FailureGroup", "Why", "due_work", "fingerprint", "span"]
