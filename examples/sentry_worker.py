"""A worker whose failed jobs are reported to Sentry: ``bullrush worker examples.sentry_worker:worker``.

Each job that has failed for good is one event, with its id, name and queue as tags, and never with its data.
"""

import os

import sentry_sdk
from sentry_sdk.integrations.logging import ignore_logger

from bullrush import Job, Worker

# The values of variables would show the data of jobs.
sentry_sdk.init(dsn=os.environ.get("SENTRY_DSN"), include_local_variables=False)
# The worker also logs its failures, and Sentry takes errors of the log: each would be there twice.
ignore_logger("bullrush")
ignore_logger("bullrush.worker")


def report(job: Job, error: BaseException) -> None:
    """Report a job that will not run again; attempts before the last one are in the log."""
    if job.finished_on is None:
        return
    with sentry_sdk.new_scope() as scope:
        scope.set_tags({"job.id": job.id, "job.name": job.name, "job.queue": job.queue_name})
        # One issue per kind of job and error, however the texts of the errors differ.
        scope.fingerprint = [job.queue_name, job.name, type(error).__name__]
        scope.capture_exception(error)


def charge(job: Job) -> None:
    raise ConnectionError(f"the bank does not answer about {job.id}")


worker = Worker(os.environ.get("QUEUE", "payments"), charge)
worker.on("failed", report)

if __name__ == "__main__":
    worker.run()
