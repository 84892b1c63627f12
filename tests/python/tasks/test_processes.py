"""Tasks in processes of their own, which import them by name."""

import os

import pytest

from bullrush import Tasks, Worker, enqueue_many
from bullrush.errors import InvalidOptionError
from tests.python.tasks.process_tasks import tasks, where, where_async


def test_tasks_run_in_other_processes_which_keep_the_values_of_the_worker(redis_url, redis):
    tasks._producer.url = redis_url  # the module does not know the server of the test
    try:
        jobs = enqueue_many([where.bind(), where.bind(), where_async.bind()])
        with Worker(tasks, url=redis_url, isolation="process", concurrency=1) as worker:
            assert worker.run(until="empty").completed == 3
        (pid, first, around), (_, second, _) = (job.result(5_000) for job in jobs[:2])
        assert pid != os.getpid()
        assert (first, second, around) == ([pid, pid], [pid, pid, pid], "where")
        assert jobs[2].result(5_000) == pid
    finally:
        redis.delete(*redis.keys("bull:process-tasks:*"))


def test_a_task_that_cannot_be_imported_is_refused():
    own = Tasks("mail")
    own.task(name="local")(lambda: None)
    with pytest.raises(InvalidOptionError, match="top of a module"):
        Worker(own, isolation="process")
