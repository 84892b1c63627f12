"""Job schedulers: they make jobs at intervals or by a cron pattern."""

from bullrush.scheduler.options import JobTemplate, RepeatOptions
from bullrush.scheduler.queue_calls import RepeatableJob
from bullrush.scheduler.scheduler import JobScheduler, SchedulerJson, SchedulerOptions

__all__ = ["JobScheduler", "JobTemplate", "RepeatOptions", "RepeatableJob", "SchedulerJson", "SchedulerOptions"]
