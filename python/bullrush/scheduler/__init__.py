"""Job schedulers: they make a job every so often, or when a cron pattern says so."""

from bullrush.scheduler.options import JobTemplate, RepeatOptions
from bullrush.scheduler.queue_calls import RepeatableJob
from bullrush.scheduler.scheduler import JobScheduler, SchedulerJson, SchedulerOptions

__all__ = ["JobScheduler", "JobTemplate", "RepeatOptions", "RepeatableJob", "SchedulerJson", "SchedulerOptions"]
