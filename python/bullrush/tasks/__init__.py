"""Tasks: typed functions that run as jobs."""

from bullrush.tasks.codecs import Codec, Coder, MisfitError
from bullrush.tasks.cron import find_gone, prune
from bullrush.tasks.depends import OVERRIDES, Depends
from bullrush.tasks.middleware import Middleware
from bullrush.tasks.new_task import NewTask, aenqueue_many, enqueue_many
from bullrush.tasks.options import TaskOptions
from bullrush.tasks.registry import Tasks
from bullrush.tasks.task import AsyncTask, PlainTask, Task
from bullrush.tasks.task_job import AsyncTaskJob, TaskJob

__all__ = [
    "OVERRIDES",
    "AsyncTask",
    "AsyncTaskJob",
    "Codec",
    "Coder",
    "Depends",
    "Middleware",
    "MisfitError",
    "NewTask",
    "PlainTask",
    "Task",
    "TaskJob",
    "TaskOptions",
    "Tasks",
    "aenqueue_many",
    "enqueue_many",
    "find_gone",
    "prune",
]
