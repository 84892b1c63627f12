"""A handler that handler processes import."""

from bullrush import Job


def name_of_queue(job: Job) -> str:
    job.update_progress(50)
    return job.queue_name
