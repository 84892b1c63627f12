"""Looking at queues and jobs without changing them: what is due, and why a job does not run."""

from bullrush.inspection.due import DueWork, due_work
from bullrush.inspection.why import Why

__all__ = ["DueWork", "Why", "due_work"]
